"""torch.npu.Stream."""
from mindtorch._npu.records cimport StreamSlot


cdef class Stream:
    cdef StreamSlot *slot

cdef Stream wrap_stream(StreamSlot *slot)
