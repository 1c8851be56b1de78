"""Functions that make tensors: from sizes, numbers, random numbers, and Python data."""
from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- torch.tensor ----------------------------------------------------------------------------------------------------
# torch.tensor's reading of Python data.


# A new CPU tensor from numbers, nested sequences of them, or arrays; dtype Undefined: inferred as torch does.
cdef TensorBase new_from_data(object data, ScalarType dtype)


# --- from sizes and numbers ------------------------------------------------------------------------------------------
# What functions that make tensors share: reading of their common arguments.


cdef struct TensorOptions:               # where the tensor shall lie
    int type
    int index
    bint pinned

cdef int parse_options(TensorOptions *request, object layout, object device, object pin_memory,
                       const char *function) except -1
cdef int parse_size(tuple args, object size, Shape *shape, const char *function) except -1
# The dtype given, that of `out`, or `otherwise`.
cdef ScalarType parse_result_dtype(object dtype, object out, ScalarType otherwise, const char *function) except *
# The tensor to fill: a new one, or `out` resized (on its own device unless another one is named).
cdef TensorBase allocate_result(TensorOptions *request, const Shape *shape, ScalarType dtype, object out, object device)
cdef TensorBase allocate_like(object like, object dtype, object layout, object device, object pin_memory,
                              object memory_format, const char *function)
# a leaf that requires a gradient where that is wanted
cdef TensorBase with_requires_grad(TensorBase made, object wanted)
