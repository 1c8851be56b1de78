# Rules of sorting, searching and distinct elements.
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport check_kernel_not_complex, raise_not_implemented
from mindtorch._core.rules.infer cimport same_shape, vector_of_size, wrap_dim
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, KIND, Bool, Int, Long, ScalarType, dtype_name, promote_types
from mindtorch._core.tensor.tensor cimport CPU, Shape, shape_text


cdef int resize_dim(Shape *shape, TensorBase self, int64_t k, int64_t dim) except -1:
    """That of `self`, with `k` elements along `dim`."""
    same_shape(shape, self)
    if self.ndim:
        shape.sizes[wrap_dim(dim, self.ndim)] = k
    return 0


cdef ScalarType index_dtype(bint out_int32) except *:
    """int32 or int64."""
    return Int if out_int32 else Long


cdef int check_sortable(TensorBase self, int64_t dim, str name) except -1:
    """The dimension must be in range; refuses complex numbers."""
    wrap_dim(dim, self.ndim)
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        raise RuntimeError(f"{name} does not support complex dtypes on CPU")
    return 0


cdef int check_topk(TensorBase self, int64_t k, int64_t dim) except -1:
    """`k` must be within the size of the dimension; refuses bool and complex numbers."""
    cdef int64_t axis = wrap_dim(dim, self.ndim)
    if k < 0 or k > (self.sizes[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    check_sortable(self, dim, " topk")
    if self.dtype == Bool:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    return 0


cdef int check_kthvalue(TensorBase self, int64_t k, int64_t dim) except -1:
    """`k` must be within the size of the dimension; refuses bool and complex numbers."""
    cdef int64_t axis = wrap_dim(dim, self.ndim)
    cdef int64_t length = self.sizes[axis] if self.ndim else 1
    if k < 1 or k > length:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if self.ndim and (self.dtype == Bool or KIND[<int>self.dtype] == COMPLEX_KIND):
        raise_not_implemented("kthvalue_cpu", self.dtype)
    return 0


cdef str legacy_tensor_type(ScalarType dtype):
    """torch.FloatTensor, as old messages name dtypes."""
    return f"torch.{dtype_name(dtype)}Tensor"


cdef int check_out_values(TensorBase out, TensorBase self, str name) except -1:
    """out= of values must have self's dtype."""
    if out.dtype != self.dtype:
        raise RuntimeError(f"Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but "
                           f"type {legacy_tensor_type(out.dtype)} does not equal {legacy_tensor_type(self.dtype)} "
                           "(while checking "
                           f"arguments for {name})")
    return 0


cdef int check_out_indices(TensorBase out, str name) except -1:
    """out= of indices must be int64."""
    if out.dtype != Long:
        raise RuntimeError("Expected tensor for argument #1 'indices' to have scalar type Long; but got "
                           f"{legacy_tensor_type(out.dtype)} instead (while checking arguments for {name})")
    return 0


cdef int check_searchsorted(TensorBase sequence, TensorBase values, bint right, object side,
                            TensorBase sorter) except -1:
    """Sequence and values must have the same leading sizes; side and right must agree."""
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
    if sequence.ndim != 1 and not same_leading_sizes(sequence, values):
        raise RuntimeError(f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           "tensor and input value tensor must match, but we got boundaries tensor "
                           f"{shape_text(sequence.ndim, sequence.sizes)} and input value tensor "
                           f"{shape_text(values.ndim, values.sizes)}")
    dtype = promote_types(sequence.dtype, values.dtype)
    if dtype == Bool or KIND[<int>dtype] == COMPLEX_KIND:
        raise_not_implemented("searchsorted_out_cpu", dtype)
    return 0


cdef int check_sorter(TensorBase sequence, TensorBase sorter, str name) except -1:
    if shape_text(sequence.ndim, sequence.sizes) != shape_text(sorter.ndim, sorter.sizes):
        raise RuntimeError(f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                           f"{shape_text(sequence.ndim, sequence.sizes)}and got sorter tensor "
                           f"{shape_text(sorter.ndim, sorter.sizes)}")
    if sorter.dtype != Long:
        raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {dtype_name(sorter.dtype)}")
    return 0


cdef bint same_leading_sizes(TensorBase sequence, TensorBase values):
    cdef int i
    if sequence.ndim != values.ndim:
        return False
    for i in range(sequence.ndim - 1):
        if sequence.sizes[i] != values.sizes[i]:
            return False
    return True


cdef int check_out_searchsorted(TensorBase out, bint out_int32) except -1:
    """out= must be int32 or int64, as out_int32 says."""
    if out.dtype != index_dtype(out_int32):
        raise RuntimeError("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
                           "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
                           f"{dtype_name(out.dtype)} and out_int32 flag is {bool(out_int32)}")
    return 0


cdef int like_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1:
    """The shape of the tensor, or (0,) where the result is not wanted."""
    return same_shape(shape, self) if wanted else vector_of_size(shape, 0)


cdef int vector_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1:
    """(n,) for the number of elements, or (0,) where the result is not wanted."""
    return vector_of_size(shape, self.numel if wanted else 0)


cdef int dim_vector_if_wanted(Shape *shape, TensorBase self, int64_t dim, bint wanted) except -1:
    """(n,) for the size along `dim`, or (0,) where the result is not wanted."""
    return vector_of_size(shape, self.sizes[dim] if wanted else 0)


cdef int unique_consecutive(Shape *shape, TensorBase self, const Shape *dim) except -1:
    """The largest possible result: as many runs as elements, or as the size along `dim`."""
    return same_shape(shape, self) if dim.ndim else vector_of_size(shape, self.numel)


cdef int unique_consecutive_inverse(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1:
    """An index for each element or along `dim`, or (0,) where the result is not wanted."""
    if dim.ndim:
        return dim_vector_if_wanted(shape, self, wrap_dim(dim.sizes[0], self.ndim), wanted)
    return like_if_wanted(shape, self, wanted)


cdef int unique_consecutive_counts(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1:
    """(n,): a count for each run, or (0,) where the result is not wanted."""
    if dim.ndim:
        return dim_vector_if_wanted(shape, self, wrap_dim(dim.sizes[0], self.ndim), wanted)
    return vector_if_wanted(shape, self, wanted)


cdef int check_unique(ScalarType dtype) except -1:
    """Refuses complex numbers."""
    return check_kernel_not_complex(dtype, "unique")


cdef int check_unique_dim(TensorBase self, int64_t dim) except -1:
    """The dimension must be in range, and no other one empty."""
    cdef int i
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    for i in range(self.ndim if self.numel == 0 else 0):
        if self.sizes[i] == 0 and i != dim:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return 0


cdef int check_unique_consecutive(TensorBase self, const Shape *dim) except -1:
    """As check_unique_dim, where a dimension is given."""
    return check_unique_dim(self, dim.sizes[0]) if dim.ndim else 0
