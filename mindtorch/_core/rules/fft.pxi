# Rules of Fourier transforms.
from libc.stdint cimport int64_t

from mindtorch._core.rules.infer cimport same_shape, wrap_dim
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, FLOAT_KIND, KIND, BFloat16, Half, dtype_name, is_float8
from mindtorch._core.tensor.tensor cimport Shape


cdef int fft_r2c(Shape *shape, TensorBase a, const Shape *dim, bint onesided) except -1:
    """That of `self`; of the last of `dim` only n // 2 + 1 where `onesided`."""
    same_shape(shape, a)
    cdef int64_t last = wrap_dim(dim.sizes[dim.ndim - 1], a.ndim)
    if onesided:
        shape.sizes[last] = shape.sizes[last] // 2 + 1
    return 0


cdef int fft_c2r(Shape *shape, TensorBase a, const Shape *dim, int64_t length) except -1:
    """That of `self`, with `length` as the size of the last of `dim`."""
    same_shape(shape, a)
    shape.sizes[wrap_dim(dim.sizes[dim.ndim - 1], a.ndim)] = length
    return 0


cdef int check_fft_r2c(TensorBase self) except -1:
    """The dtype must be float32 or float64."""
    if self.dtype == Half or self.dtype == BFloat16 or is_float8(self.dtype):
        raise RuntimeError(f"Unsupported dtype {dtype_name(self.dtype)}")
    if KIND[<int>self.dtype] != FLOAT_KIND:
        raise RuntimeError("a real Fourier transform expects a floating point tensor, but got "
                           f"{dtype_name(self.dtype)}")
    return 0


cdef int check_fft_c2c(TensorBase self) except -1:
    """Refuses dtypes other than complex ones."""
    if KIND[<int>self.dtype] != COMPLEX_KIND:
        raise RuntimeError(f"a Fourier transform expects a complex tensor, but got {dtype_name(self.dtype)}")
    return 0


cdef int check_fft_dims(TensorBase self, const Shape *dim) except -1:
    """There must be at least one dimension, and all of `dim` must be in range."""
    cdef int i
    if self.ndim == 0 or dim.ndim == 0:
        raise RuntimeError("a Fourier transform expects at least one dimension")
    for i in range(dim.ndim):
        wrap_dim(dim.sizes[i], self.ndim)
    return 0
