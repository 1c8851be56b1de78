"""torch.fft: discrete Fourier transforms, over the three of the table: complex to complex, real to complex, and back.

`norm` says where the factor stands: "backward" (the default) in inverse transforms, "forward" in forward ones, "ortho"
half of it in both.
"""
import functools
from math import inf, prod

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.python.torch_function import publish as _publish
from mindtorch._core.tensor.dtype import float32, float64, get_default_dtype
from mindtorch._core.tensor.factories import FUNCTIONS as _FACTORIES
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.views import conj as _conj
from mindtorch._ops.composite.common import scalar_type as _scalar_type
from mindtorch._ops.composite.common import with_out
from mindtorch._ops.composite.common import wrap_dim as _wrap_dim

_c2c, _r2c, _c2r = _ATEN["_fft_c2c"], _ATEN["_fft_r2c"], _ATEN["_fft_c2r"]
_cat, _arange = _OPS["cat"], _FACTORIES["arange"]
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_INVERSE = {None: 2, "backward": 2, "ortho": 1, "forward": 0}

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


# --- arguments -------------------------------------------------------------------------------------------------------

def _mode(norm, forward):
    modes = _FORWARD if forward else _INVERSE
    if norm not in modes:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return modes[norm]


def _floating(input, name):
    if not isinstance(input, TensorBase):
        raise TypeError(f"fft_{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input if input.is_floating_point() or input.is_complex() else input.to(get_default_dtype())


def _real(input, name):
    input = _floating(input, name)
    if input.is_complex():
        valued = "-valued" if name == "rfftn" else ""
        raise RuntimeError(f"{name} expects a real{valued} input tensor, but got {_scalar_type(input.dtype)}")
    return input


def _complex(input, name):
    input = _floating(input, name)
    if input.is_complex():
        return input
    if input.dtype in (float32, float64):
        return _OPS["complex"](input, _FACTORIES["zeros_like"](input))        # unlike a cast, it has a real gradient
    # The transform of one element is that element.
    return _r2c(input.unsqueeze(-1), [input.dim()], 0, False).squeeze(-1)


def _wrapped(dim, count):
    if not count:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return _wrap_dim(dim, count)


def _dims(input, s, dim):
    """The dimensions transformed, and the sizes to give them; None leaves a size as it is."""
    s = [s] if isinstance(s, int) else s
    if dim is None:
        count = input.dim() if s is None else len(s)
        if count > input.dim():
            raise RuntimeError(f"Got shape with {count} values but input tensor only has {input.dim()} dimensions.")
        dims = list(range(input.dim() - count, input.dim()))
    else:
        dims = [_wrapped(d, input.dim()) for d in ([dim] if isinstance(dim, int) else dim)]
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    sizes = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]
    if len(sizes) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    for size, d in zip(sizes, dims, strict=True):
        count = input.shape[d] if size is None else size
        if count < 1:
            raise RuntimeError(f"Invalid number of data points ({count}) specified")
    return dims, sizes


def _resized(input, dims, sizes):
    """Cut off, or filled up with zeros, to the sizes."""
    for d, size in zip(dims, sizes, strict=True):
        if size is None or size == input.shape[d]:
            continue
        if size < input.shape[d]:
            input = input.narrow(d, 0, size)
        else:
            missing = list(input.shape)
            missing[d] = size - input.shape[d]
            input = _cat([input, input.new_zeros(missing)], d)
    return input


def _as_lists(s, dim):
    if s is not None and s < 1:         # of several sizes, -1 leaves one as it is
        raise RuntimeError(f"Invalid number of data points ({s}) specified")
    return (None if s is None else [s]), [dim]


def _checks_out(name):
    """Decorator that refuses an out= of the wrong kind, whatever its dtype can hold."""
    real = name.startswith(("irfft", "hfft"))

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, out=None, **options):
            if isinstance(out, TensorBase) and not (out.is_floating_point() if real else out.is_complex()):
                raise RuntimeError(f"{name} expects a {'floating point' if real else 'complex'} output tensor, but got "
                                   f"{_scalar_type(out.dtype)}")
            return function(*args, out=out, **options)
        return wrapper
    return decorate


def _refuse_wider_out(input, out, name):
    """torch's inverse transforms of real numbers along one dimension write to no other dtype than theirs."""
    dtype = _floating(input, name).dtype.to_complex()
    if out is not None and not input.is_complex() and out.dtype is not dtype:
        raise RuntimeError(f"Found dtype {_scalar_type(out.dtype)} but expected {_scalar_type(dtype)}")


# --- n dimensions ----------------------------------------------------------------------------------------------------

def _transform(input, s, dim, norm, forward, name):
    input = _complex(input, name)
    dims, sizes = _dims(input, s, dim)
    mode = _mode(norm, forward)
    return _c2c(_resized(input, dims, sizes), dims, mode, forward) if dims else input.clone()


@_checks_out("fftn")
@with_out
@with_autocast_policy("fft_fftn")
def fftn(input, s=None, dim=None, norm=None):
    """The Fourier transform over several dimensions."""
    return _transform(input, s, dim, norm, True, "fftn")


@_checks_out("fftn")
@with_out
@with_autocast_policy("fft_ifftn")
def ifftn(input, s=None, dim=None, norm=None):
    """The inverse of fftn."""
    return _transform(input, s, dim, norm, False, "ifftn")


@_checks_out("rfftn")
@with_out
@with_autocast_policy("fft_rfftn")
def rfftn(input, s=None, dim=None, norm=None):
    """fftn of a real tensor: half of the last dimension, the rest is its mirror image."""
    input = _real(input, "rfftn")
    dims, sizes = _dims(input, s, dim)
    if not dims:
        raise RuntimeError("rfftn must transform at least one axis")
    return _r2c(_resized(input, dims, sizes), dims, _mode(norm, True), True)


def _last_size(input, dims, sizes):
    """The length that a half dimension has as a whole; None asks for the even one."""
    length = 2 * (input.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")
    return length, [*sizes[:-1], length // 2 + 1]


@_checks_out("irfftn")
@with_out
@with_autocast_policy("fft_irfftn")
def irfftn(input, s=None, dim=None, norm=None):
    """The inverse of rfftn."""
    input = _complex(input, "irfftn")
    dims, sizes = _dims(input, s, dim)
    if not dims:
        raise RuntimeError("irfftn must transform at least one axis")
    length, sizes = _last_size(input, dims, sizes)
    return _c2r(_resized(input, dims, sizes), dims, _mode(norm, False), length)


@_checks_out("hfftn")
@with_out
def hfftn(input, s=None, dim=None, norm=None):
    """The transform of a tensor that is its own mirror image, conjugated, of which half is given: real."""
    input = _complex(input, "hfftn")
    dims, sizes = _dims(input, s, dim)
    if not dims:
        raise RuntimeError("hfftn must transform at least one axis")
    length, sizes = _last_size(input, dims, sizes)
    mode = _mode(norm, True)
    input = _resized(input, dims, sizes)
    if len(dims) > 1:
        input = _c2c(input, dims[:-1], mode, True)
    return _c2r(_conj(input), dims[-1:], mode, length)


@_checks_out("ihfftn")
@with_out
def ihfftn(input, s=None, dim=None, norm=None):
    """The inverse of hfftn."""
    input = _real(input, "ihfftn")
    dims, sizes = _dims(input, s, dim)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    mode = _mode(norm, False)
    half = _conj(_r2c(_resized(input, dims, sizes), dims[-1:], mode, True))
    return _c2c(half, dims[:-1], mode, False) if len(dims) > 1 else half


# --- one and two dimensions ------------------------------------------------------------------------------------------

@_checks_out("fft")
@with_autocast_policy("fft_fft")
def fft(input, n=None, dim=-1, norm=None, *, out=None):
    """The Fourier transform along one dimension."""
    return fftn(input, *_as_lists(n, dim), norm, out=out)


@_checks_out("ifft")
@with_autocast_policy("fft_ifft")
def ifft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of fft."""
    _refuse_wider_out(input, out, "ifft")
    return ifftn(input, *_as_lists(n, dim), norm, out=out)


@_checks_out("rfft")
@with_autocast_policy("fft_rfft")
def rfft(input, n=None, dim=-1, norm=None, *, out=None):
    """fft of a real tensor: its first half, the rest is the mirror image."""
    return rfftn(_real(input, "rfft"), *_as_lists(n, dim), norm, out=out)


@_checks_out("irfft")
@with_autocast_policy("fft_irfft")
def irfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of rfft."""
    return irfftn(input, *_as_lists(n, dim), norm, out=out)


@_checks_out("hfft")
@with_autocast_policy("fft_hfft")
def hfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The transform of a tensor that is its own mirror image, conjugated: real."""
    return hfftn(input, *_as_lists(n, dim), norm, out=out)


@_checks_out("ihfft")
@with_autocast_policy("fft_ihfft")
def ihfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of hfft."""
    input = _real(input, "ihfft")
    _refuse_wider_out(input, out, "ihfft")
    return ihfftn(input, *_as_lists(n, dim), norm, out=out)


@with_autocast_policy("fft_fft2")
def fft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """fftn over the last two dimensions."""
    return fftn(input, s, dim, norm, out=out)


@with_autocast_policy("fft_ifft2")
def ifft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """ifftn over the last two dimensions."""
    return ifftn(input, s, dim, norm, out=out)


@with_autocast_policy("fft_rfft2")
def rfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """rfftn over the last two dimensions."""
    return rfftn(input, s, dim, norm, out=out)


@with_autocast_policy("fft_irfft2")
def irfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """irfftn over the last two dimensions."""
    return irfftn(input, s, dim, norm, out=out)


def hfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """hfftn over the last two dimensions."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """ihfftn over the last two dimensions."""
    return ihfftn(input, s, dim, norm, out=out)


# --- frequencies -----------------------------------------------------------------------------------------------------

def _rolled(input, dim, halves):
    """Each dimension rotated by half its size."""
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    if not len(dims):
        raise RuntimeError("`shifts` required")
    for d in [_wrapped(d, input.dim()) for d in dims]:
        size = input.shape[d]
        first = size - halves(size)
        if 0 < first < size:
            input = _cat([input.narrow(d, first, size - first), input.narrow(d, 0, first)], d)
    return input.clone() if prod(input.shape) else input


def fftshift(input, dim=None):
    """The frequency 0 in the middle."""
    return _rolled(input, dim, lambda size: size // 2)


def ifftshift(input, dim=None):
    """The inverse of fftshift."""
    return _rolled(input, dim, lambda size: (size + 1) // 2)


def _frequencies(places, n, d, out, pin_memory, requires_grad):
    """places / (n d), in out= if there is one, which the range has resized."""
    result = places * (1 / (n * d) if n * d else inf)
    if out is not None:
        return out.copy_(result)
    return (result.pin_memory() if pin_memory else result).requires_grad_(requires_grad)


def _places(count, out, dtype, device, name):
    if out is not None:
        if not (out.is_floating_point() or out.is_complex()):
            raise RuntimeError(f"{name} requires a floating point or complex dtype")
        return _arange(count, dtype=dtype, device=device, out=out)
    return _arange(count, dtype=dtype or get_default_dtype(), device=device)


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The frequencies that belong to the elements of fft's result, for samples `d` apart."""
    places = _places(n, out, dtype, device, "fftfreq")
    places = _OPS["where"](places >= (n + 1) // 2, places - n, places)
    return _frequencies(places, n, d, out, pin_memory, requires_grad)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The frequencies that belong to the elements of rfft's result, for samples `d` apart."""
    return _frequencies(_places(n // 2 + 1, out, dtype, device, "rfftfreq"), n, d, out, pin_memory, requires_grad)


_publish(globals(), module="torch._C._fft", prefix="fft_")
