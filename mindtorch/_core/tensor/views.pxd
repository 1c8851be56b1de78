"""Views: new geometry over the same storage, in C and as Python sees them."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.tensor cimport Shape, TensorBase


cdef TensorBase reshape_to(TensorBase self, Shape *shape)
cdef TensorBase transpose_matrix(TensorBase self)                                                 # t
cdef TensorBase alias_with_history(TensorBase self)
cdef TensorBase expand_to(TensorBase self, const Shape *shape)                                    # -1 keeps a size
cdef TensorBase select_dim(TensorBase self, int64_t dim, int64_t index)
cdef TensorBase slice_dim(TensorBase self, int dim, int64_t start, int64_t length, int64_t step)  # no checks
