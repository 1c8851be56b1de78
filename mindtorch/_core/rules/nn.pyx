"""Rules of operators of networks: shapes, dtypes and errors. Each subject is a file of its own, which this includes."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.tensor cimport Shape, shape_text

include "convolution.pxi"
include "pooling.pxi"
include "padding.pxi"
include "resampling.pxi"
include "normalization.pxi"
include "activations.pxi"
include "losses.pxi"
include "recurrent.pxi"
include "attention.pxi"
include "torch_npu.pxi"


# What several subjects use.

cdef str list_text(const Shape *values):
    return shape_text(values.ndim, values.sizes)


cdef str size_text(TensorBase tensor):
    return shape_text(tensor.ndim, tensor.sizes)


cdef list list_of(const Shape *values):
    cdef int i
    return [values.sizes[i] for i in range(values.ndim)]


cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    cdef int64_t quotient = a // b if a >= 0 else -((-a + b - 1) // b)
    return quotient


cdef str sizes_by_side(list sizes):
    return ", ".join([f"{side}: {size}" for side, size in zip(("D", "H", "W")[-len(sizes):], sizes)])
