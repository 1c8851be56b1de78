"""The composite that the engine calls from C."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.tensor cimport TensorBase


# `self` summed to the shape `sizes`, which must broadcast to the shape of `self`.
cdef TensorBase sum_to(TensorBase self, int ndim, const int64_t *sizes)
