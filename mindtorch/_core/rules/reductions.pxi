# Rules of reductions, cumulative operators and histograms.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport check_kernel_not_complex, cpp_type_name, raise_not_implemented
from mindtorch._core.rules.infer cimport vector_of_size, wrap_dim
from mindtorch._core.tensor.dtype cimport (
    FLOAT_KIND, INT_KIND, KIND, Bool, Double, Float, Long, Scalar, ScalarType, Undefined, dtype_name,
)
from mindtorch._core.tensor.tensor cimport Shape


cdef int histogram(Shape *shape, int64_t bins) except -1:
    """(bins,)."""
    shape.ndim = 1
    shape.sizes[0] = bins
    return 0


cdef ScalarType nansum_operand_dtype(TensorBase self, ScalarType dtype) except *:
    """The result's dtype; self's where self may have NaN and the result has none. Refuses complex results of floats."""
    if KIND[<int>self.dtype] == FLOAT_KIND:
        check_kernel_not_complex(dtype, "nansum_cpu")
    return self.dtype if KIND[<int>self.dtype] == FLOAT_KIND and KIND[<int>dtype] < FLOAT_KIND else dtype


cdef int check_variance(ScalarType dtype, str name) except -1:
    """Refuses bool and integers."""
    if KIND[<int>dtype] < FLOAT_KIND:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    return 0


cdef int check_cumulative_not_bool(TensorBase self, ScalarType dtype, str op) except -1:
    """Refuses bool, except for 0-d tensors, whose result is a copy, and where nothing is computed."""
    if dtype == Bool and self.ndim and self.numel and self.device_type != META:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_inplace_dtype(TensorBase self, ScalarType dtype) except -1:
    """A dtype= that is given must be that of `self`."""
    if dtype != Undefined and dtype != self.dtype:
        raise RuntimeError(f"Bad in-place call: input tensor dtype {cpp_type_name(self.dtype)} and output tensor dtype "
                           f"{cpp_type_name(dtype)} should match")
    return 0


cdef int check_cumulative_not_complex(TensorBase self, str op) except -1:
    """Refuses complex numbers, except for 0-d tensors, whose result is a copy."""
    return check_kernel_not_complex(self.dtype, op) if self.ndim else 0


cdef int check_aminmax(TensorBase self, const Shape *dim) except -1:
    """The dimension must be in range, and not empty; refuses complex numbers."""
    cdef int64_t axis = wrap_dim(dim.sizes[0], self.ndim) if dim.ndim else 0
    if self.numel == 0 and dim.ndim == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    if self.numel == 0 and self.sizes[axis] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return check_kernel_not_complex(self.dtype, "aminmax_cpu")


cdef int check_isclose(TensorBase self, TensorBase other, double rtol, double atol) except -1:
    """Both tensors must have one dtype; the tolerances must not be negative, or NaN."""
    if self.dtype != other.dtype:
        raise RuntimeError(f"{dtype_name(self.dtype)} did not match {dtype_name(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    return 0


cdef int check_out_logsumexp(TensorBase out) except -1:
    """out= must be of floats or complex numbers."""
    if KIND[<int>out.dtype] < FLOAT_KIND:
        raise RuntimeError("logsumexp(): Expected floating point type for result tensor, but got: "
                           f"{dtype_name(out.dtype)}")
    return 0


cdef int check_histogram(int64_t bins, const Scalar *low, const Scalar *high) except -1:
    """There must be bins, and the range must be finite and in order."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if low.real > high.real:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not (-float("inf") < low.real and high.real < float("inf")):
        raise RuntimeError(f"torch.histc: range of [{low.real:g}, {high.real:g}] is not finite")
    return 0


cdef int check_out_histogram(TensorBase out, TensorBase self) except -1:
    """out= must have self's dtype."""
    if out.dtype != self.dtype:
        raise RuntimeError("torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
                           f"{cpp_type_name(self.dtype)} and hist {cpp_type_name(out.dtype)}")
    return 0


cdef int check_bincount(TensorBase self, TensorBase weights, int64_t minlength) except -1:
    """`self` must be a vector of integers, and `weights` one of its length where it has elements."""
    if self.dtype == Bool or KIND[<int>self.dtype] != INT_KIND:
        raise_not_implemented("bincount_cpu", self.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if self.numel and weights is not None and (weights.ndim != 1 or weights.numel != self.numel):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return 0


cdef int bincount(Shape *shape, TensorBase self, int64_t minlength) except -1:
    """(n,): n is the largest element plus one, at least minlength. The host reads the elements."""
    cdef int64_t least, most
    if self.numel:
        read_min_max(self, &least, &most)
        if least < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        minlength = max(minlength, most + 1)
    return vector_of_size(shape, minlength)


cdef ScalarType bincount_dtype(TensorBase self, TensorBase weights) except *:
    """int64 without weights, float32 of float32 weights, else float64."""
    if weights is None or self.numel == 0:
        return Long
    return Float if weights.dtype == Float else Double
