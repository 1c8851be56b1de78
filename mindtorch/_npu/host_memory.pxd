"""Pinned host memory: what the device copies from and to without the host's help."""
from mindtorch._core.tensor cimport Storage, TensorBase
from mindtorch._npu.records cimport StreamSlot

cdef struct PinnedBlock:
    void *address
    size_t size                      # a power of two, but for large blocks where the settings say so
    int bucket                       # log2 of the size, rounded up
    bint registered                  # the process's own memory, pinned by aclrtHostRegisterV2
    bint reserved                    # a part of the segment of pinned_reserve_segment_size_mb, which is not given back
    int references                   # the storage's, and one for each copy under way
    PinnedBlock *next                # among the idle ones of its bucket


cdef class PinnedStorage(Storage):   # on the CPU
    cdef PinnedBlock *block

cdef Storage allocate_pinned(size_t nbytes)
cdef PinnedBlock *take_pinned(size_t nbytes) except NULL       # with one reference, for the caller
cdef void release_pinned(PinnedBlock *block) noexcept          # takes one reference off
cdef int hold_pinned(PinnedBlock *block, StreamSlot *stream) except -1     # until `stream` has done what it has now
