from mindtorch._core.dtype cimport KIND, code_name, promote_types
from mindtorch._core.dispatch cimport c_name, check_ordered
from mindtorch._core.infer cimport same, wrap_dim
from mindtorch._core.readings cimport read_extremes
from mindtorch._core.scalar cimport COMPLEX_KIND, FLOAT_KIND, INT_KIND, Bool, Double, Float, Int, Long, Undefined
from mindtorch._core.tensor cimport shape_text


# --- shapes --------------------------------------------------------------------------------------------------------

cdef int selected(Shape *shape, TensorBase self, int64_t k, int64_t dim) except -1:
    same(shape, self)
    if self.ndim:
        shape.sizes[wrap_dim(dim, self.ndim)] = k
    return 0


cdef int bins_shape(Shape *shape, int64_t bins) except -1:
    shape.ndim = 1
    shape.sizes[0] = bins
    return 0


# --- dtypes --------------------------------------------------------------------------------------------------------

cdef ScalarType index_dtype(bint out_int32) except *:
    return Int if out_int32 else Long


cdef ScalarType nansum_operand(TensorBase self, ScalarType dtype) except *:
    return self.dtype if KIND[<int>self.dtype] == FLOAT_KIND or dtype == Undefined else dtype


# --- checks: moments -------------------------------------------------------------------------------------

cdef int check_variance(TensorBase self, str name) except -1:
    if KIND[<int>self.dtype] < FLOAT_KIND:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    return 0


cdef int check_accumulated(TensorBase self, ScalarType dtype, str op) except -1:
    if dtype == Bool and self.ndim:
        raise NotImplementedError(f'"{op}" not implemented for \'Bool\'')
    return 0


cdef int check_inplace_dtype(TensorBase self, ScalarType dtype) except -1:
    if dtype != Undefined and dtype != self.dtype:
        raise RuntimeError(f"Bad in-place call: input tensor dtype {c_name(self.dtype)} and output tensor dtype "
                           f"{c_name(dtype)} should match")
    return 0


cdef int check_ordered_lines(TensorBase self, str op) except -1:
    return check_ordered(self.dtype, op) if self.ndim else 0


cdef int check_floating_kernel(ScalarType dtype, str op) except -1:
    if KIND[<int>dtype] < FLOAT_KIND:
        raise NotImplementedError(f'"{op}" not implemented for \'{code_name(dtype)}\'')
    return 0


cdef int check_aminmax(TensorBase self, const Shape *dim) except -1:
    check_ordered(self.dtype, "aminmax_cpu")
    if self.numel:
        return 0
    if dim.ndim == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    cdef int64_t axis = wrap_dim(dim.sizes[0], self.ndim)
    if self.sizes[axis] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return 0


cdef int check_isclose(TensorBase self, TensorBase other, double rtol, double atol) except -1:
    if self.dtype != other.dtype:
        raise RuntimeError(f"{code_name(self.dtype)} did not match {code_name(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    return 0


cdef int check_out_floating(TensorBase out) except -1:
    if KIND[<int>out.dtype] < FLOAT_KIND:
        raise RuntimeError("logsumexp(): Expected floating point type for result tensor, but got: "
                           f"{code_name(out.dtype)}")
    return 0


# --- checks: order -------------------------------------------------------------------------------------------------

cdef int check_sortable(TensorBase self, int64_t dim, str name) except -1:
    wrap_dim(dim, self.ndim)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise RuntimeError(f"{name} does not support complex dtypes on CPU")
    return 0


cdef int check_topk(TensorBase self, int64_t k, int64_t dim) except -1:
    cdef int64_t length = self.sizes[wrap_dim(dim, self.ndim)] if self.ndim else 1
    if k < 0 or k > length:
        raise RuntimeError("selected index k out of range")
    check_sortable(self, dim, " topk")
    if self.dtype == Bool:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    return 0


cdef int check_kth(TensorBase self, int64_t k, int64_t dim) except -1:
    cdef int64_t axis = wrap_dim(dim, self.ndim)
    cdef int64_t length = self.sizes[axis] if self.ndim else 1
    if k < 1 or k > length:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if self.ndim and (self.dtype == Bool or KIND[<int>self.dtype] == COMPLEX_KIND):
        raise NotImplementedError(f'"kthvalue_cpu" not implemented for \'{code_name(self.dtype)}\'')
    return 0


cdef str tensor_type(ScalarType dtype):
    """torch.FloatTensor, as old messages name dtypes."""
    return f"torch.{code_name(dtype)}Tensor"


cdef int check_out_values(TensorBase out, TensorBase self, str name) except -1:
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but "
                           f"type {tensor_type(out.dtype)} does not equal {tensor_type(self.dtype)} (while checking "
                           f"arguments for {name})")
    return 0


cdef int check_out_indices(TensorBase out, str name) except -1:
    if out.dtype != Long:
        raise RuntimeError("Expected tensor for argument #1 'indices' to have scalar type Long; but got "
                           f"{tensor_type(out.dtype)} instead (while checking arguments for {name})")
    return 0


cdef int check_searched(TensorBase sequence, TensorBase values, bint right, object side, TensorBase sorter) except -1:
    name = "torch.searchsorted()"
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
    if sorter is not None:
        check_sorter(sequence, sorter, name)
    if sequence.ndim == 0:
        raise RuntimeError(f"{name}: boundaries tensor should have positive dimension, but got 0 dimension")
    if values.ndim == 0 and sequence.ndim != 1:
        raise RuntimeError(f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we "
                           f"got boundaries tensor dim({sequence.ndim}) and input value's dim(0) numel(1)")
    if sequence.ndim != 1 and not same_lines(sequence, values):
        raise RuntimeError(f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           "tensor and input value tensor must match, but we got boundaries tensor "
                           f"{shape_text(sequence.ndim, sequence.sizes)} and input value tensor "
                           f"{shape_text(values.ndim, values.sizes)}")
    dtype = promote_types(sequence.dtype, values.dtype)
    if dtype == Bool or KIND[<int>dtype] == COMPLEX_KIND:
        raise NotImplementedError(f'"searchsorted_out_cpu" not implemented for \'{code_name(dtype)}\'')
    return 0


cdef int check_sorter(TensorBase sequence, TensorBase sorter, str name) except -1:
    if shape_text(sequence.ndim, sequence.sizes) != shape_text(sorter.ndim, sorter.sizes):
        raise RuntimeError(f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                           f"{shape_text(sequence.ndim, sequence.sizes)}and got sorter tensor "
                           f"{shape_text(sorter.ndim, sorter.sizes)}")
    if sorter.dtype != Long:
        raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {code_name(sorter.dtype)}")
    return 0


cdef bint same_lines(TensorBase sequence, TensorBase values):
    cdef int i
    if sequence.ndim != values.ndim:
        return False
    for i in range(sequence.ndim - 1):
        if sequence.sizes[i] != values.sizes[i]:
            return False
    return True


cdef int check_out_search(TensorBase out, bint out_int32) except -1:
    if out.dtype != index_dtype(out_int32):
        raise RuntimeError("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
                           "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
                           f"{code_name(out.dtype)} and out_int32 flag is {bool(out_int32)}")
    return 0


cdef int check_histogram(int64_t bins, const Scalar *low, const Scalar *high) except -1:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if low.real > high.real:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not (-float("inf") < low.real and high.real < float("inf")):
        raise RuntimeError(f"torch.histc: range of [{low.real:g}, {high.real:g}] is not finite")
    return 0


cdef int check_out_histogram(TensorBase out, TensorBase self) except -1:
    if out.dtype != self.dtype:
        raise RuntimeError("torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
                           f"{c_name(self.dtype)} and hist {c_name(out.dtype)}")
    return 0


# --- distinct elements -----------------------------------------------------------------------------------------------

cdef int line_of(Shape *shape, int64_t length) except -1:
    shape.ndim = 1
    shape.sizes[0] = length
    return 0


cdef int like_if(Shape *shape, TensorBase self, bint wanted) except -1:
    return same(shape, self) if wanted else line_of(shape, 0)


cdef int line_if(Shape *shape, TensorBase self, bint wanted) except -1:
    return line_of(shape, self.numel if wanted else 0)


cdef int slices_if(Shape *shape, TensorBase self, int64_t dim, bint wanted) except -1:
    return line_of(shape, self.sizes[dim] if wanted else 0)


cdef int runs(Shape *shape, TensorBase self, const Shape *dim) except -1:
    return same(shape, self) if dim.ndim else line_of(shape, self.numel)


cdef int runs_inverse(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1:
    if dim.ndim:
        return slices_if(shape, self, wrap_dim(dim.sizes[0], self.ndim), wanted)
    return like_if(shape, self, wanted)


cdef int runs_counts(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1:
    if dim.ndim:
        return slices_if(shape, self, wrap_dim(dim.sizes[0], self.ndim), wanted)
    return line_if(shape, self, wanted)


cdef int check_unique(TensorBase self) except -1:
    return check_ordered(self.dtype, "unique")


cdef int check_unique_dim(TensorBase self, int64_t dim) except -1:
    cdef int i
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    for i in range(self.ndim if self.numel == 0 else 0):
        if self.sizes[i] == 0 and i != dim:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return 0


cdef int check_runs(TensorBase self, const Shape *dim) except -1:
    return check_unique_dim(self, dim.sizes[0]) if dim.ndim else 0


# --- how often numbers occur -----------------------------------------------------------------------------------------

cdef int check_bincount(TensorBase self, TensorBase weights, int64_t minlength) except -1:
    if self.dtype == Bool or KIND[<int>self.dtype] != INT_KIND:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{code_name(self.dtype)}'")
    if self.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and (weights.ndim != 1 or weights.numel != self.numel):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return 0


cdef int counts_of(Shape *shape, TensorBase self, int64_t minlength) except -1:
    cdef int64_t least, most
    if self.numel:
        read_extremes(self, &least, &most)
        if least < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        minlength = max(minlength, most + 1)
    return line_of(shape, minlength)


cdef ScalarType count_dtype(TensorBase self, TensorBase weights) except *:
    if weights is None or self.numel == 0:
        return Long
    return Float if weights.dtype == Float else Double
