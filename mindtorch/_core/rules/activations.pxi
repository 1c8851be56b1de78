# Rules of activation functions and of fake quantisation.
from libc.stdint cimport int64_t

from mindtorch._core.rules.infer cimport same_shape, wrap_dim
from mindtorch._core.tensor.dtype cimport BFloat16, Float, Half, Int, Scalar, dtype_name
from mindtorch._core.tensor.tensor cimport Shape


cdef int glu(Shape *shape, TensorBase self, int64_t dim) except -1:
    """That of `self`, with half the size along `dim`."""
    same_shape(shape, self)
    shape.sizes[dim] //= 2
    return 0


cdef int check_glu(TensorBase self, int64_t dim) except -1:
    """The dimension must have an even size."""
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, self.ndim)
    if self.sizes[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.sizes[dim]}")
    return 0


cdef int check_fake_quantize(TensorBase self, TensorBase scale, TensorBase zero_point, int64_t axis,
                             int64_t quant_min, int64_t quant_max) except -1:
    """Scale and zero point must be vectors with an element for each index along `axis`."""
    if scale.dtype != Float and scale.dtype != BFloat16:
        raise RuntimeError(f"Scale must be Float or BFloat16, found {dtype_name(scale.dtype)}")
    if zero_point.dtype != Int and zero_point.dtype != Float and zero_point.dtype != Half:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {dtype_name(zero_point.dtype)}")
    if scale.ndim != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.ndim != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel != zero_point.numel:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {axis} but tensor has no dimensions")
    if scale.numel != self.sizes[wrap_dim(axis, self.ndim)]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if axis < 0 or axis > self.ndim:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return 0


cdef int check_celu(const Scalar *alpha) except -1:
    """`alpha` must not be 0."""
    if alpha.real == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return 0


cdef int swiglu(Shape *shape, TensorBase input) except -1:
    """That of the input, with half the last size."""
    check_glu(input, -1)
    return glu(shape, input, input.ndim - 1)
