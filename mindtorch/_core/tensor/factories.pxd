"""Functions that make tensors: from sizes, numbers, random numbers, and Python data."""
from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- torch.tensor ----------------------------------------------------------------------------------------------------
# torch.tensor's reading of Python data.


# A new CPU tensor from numbers, nested sequences of them, or arrays; dtype Undefined: inferred as torch does.
cdef TensorBase from_data(object data, ScalarType dtype)


# --- from sizes and numbers ------------------------------------------------------------------------------------------
# What functions that make tensors share: reading of their common arguments.


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
