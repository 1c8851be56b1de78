"""Views: new geometry over the same storage, in C and as Python sees them."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- views -----------------------------------------------------------------------------------------------------------
# Views: new geometry over the same storage. No function here copies, except reshape where no view can do it.


cdef TensorBase view_shape(TensorBase self, Shape *shape)              # -1 in `shape` is inferred, in place
cdef TensorBase reshape_to(TensorBase self, Shape *shape)
cdef TensorBase real_view(TensorBase self)                              # view_as_real
cdef TensorBase complex_view(TensorBase self)                              # view_as_complex
cdef TensorBase flatten_dims(TensorBase self, int64_t start, int64_t end)
cdef TensorBase transpose_dims(TensorBase self, int64_t dim0, int64_t dim1)
cdef TensorBase transpose_matrix(TensorBase self)                      # t
cdef TensorBase permute_dims(TensorBase self, Shape *dims)
cdef TensorBase squeeze_dims(TensorBase self, Shape *dims)             # those of size 1 among `dims`
cdef TensorBase unsqueeze_dim(TensorBase self, int64_t dim)
cdef TensorBase expand_to(TensorBase self, const Shape *shape)         # -1 keeps a size
cdef TensorBase select_dim(TensorBase self, int64_t dim, int64_t index)
cdef TensorBase slice_dim(TensorBase self, int dim, int64_t start, int64_t length, int64_t step)   # no checks
cdef TensorBase view_dtype(TensorBase self, ScalarType code)
cdef TensorBase unflatten_dim(TensorBase self, int64_t dim, Shape *parts)
cdef TensorBase move_dims(TensorBase self, Shape *source, Shape *destination)
cdef TensorBase narrow_dim(TensorBase self, int64_t dim, int64_t start, int64_t length)
cdef TensorBase diagonal_of(TensorBase self, int64_t offset, int64_t dim1, int64_t dim2)
cdef tuple split_by_size(TensorBase self, int64_t size, int64_t dim)
cdef tuple split_by_sizes(TensorBase self, const Shape *parts, int64_t dim)
cdef tuple unbind_dim(TensorBase self, int64_t dim)
