"""CPU references of Fourier transforms. Arrays come in the compute dtype; NumPy keeps its precision."""
import numpy as np

# By `normalization`; the backward transforms of NumPy divide by the count where the forward ones do not.
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")


def complex_to_complex(x, dim, normalization, forward):
    if forward:
        return np.fft.fftn(x, axes=dim, norm=_FORWARD[normalization])
    return np.fft.ifftn(x, axes=dim, norm=_BACKWARD[normalization])


def real_to_complex(x, dim, normalization, onesided):
    transform = np.fft.rfftn if onesided else np.fft.fftn
    return transform(x, axes=dim, norm=_FORWARD[normalization])


def complex_to_real(x, dim, normalization, length):
    sizes = [x.shape[d] for d in dim[:-1]] + [length]
    return np.fft.irfftn(x, s=sizes, axes=dim, norm=_BACKWARD[normalization])
