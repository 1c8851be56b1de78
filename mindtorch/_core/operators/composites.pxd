"""Composites that the engine needs."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.tensor cimport TensorBase


cdef TensorBase sum_to(TensorBase self, int ndim, const int64_t *sizes)    # which must broadcast to self's shape
