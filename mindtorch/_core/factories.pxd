"""What functions that make tensors share: reading of their common arguments."""
from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


cdef struct Request:               # where the tensor shall lie
    int type
    int index
    bint pinned

cdef int read_place(Request *request, object layout, object device, object pin_memory, const char *function) except -1
cdef int read_size(tuple args, object size, Shape *shape, const char *function) except -1
# The dtype given, that of `out`, or `otherwise`.
cdef ScalarType dtype_for(object dtype, object out, ScalarType otherwise, const char *function) except *
# The tensor to fill: a new one, or `out` resized (on its own device unless another one is named).
cdef TensorBase make(Request *request, const Shape *shape, ScalarType dtype, object out, object device)
cdef TensorBase make_like(object like, object dtype, object layout, object device, object pin_memory,
                          const char *function)
cdef TensorBase leaf(TensorBase made, object wanted)      # a leaf that requires a gradient where that is wanted
