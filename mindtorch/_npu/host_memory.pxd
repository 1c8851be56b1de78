"""Pinned host memory: the device copies from and to it without the host."""
from mindtorch._core.tensor.tensor cimport Storage
from mindtorch._npu.structs cimport StreamSlot


cdef struct PinnedBlock:
    void *address
    size_t size                      # a power of two, but for large blocks where the settings say so
    int bucket                       # log2 of the size, rounded up
    bint registered                  # memory of the process, pinned by aclrtHostRegisterV2
    bint reserved                    # a part of the segment of pinned_reserve_segment_size_mb, which is never freed
    int references                   # one for the storage, and one for each copy under way
    PinnedBlock *next                # in the list of idle blocks of its bucket


cdef class PinnedStorage(Storage):   # on the CPU; `block` is a PinnedBlock
    pass

cdef Storage allocate_pinned(size_t nbytes)
cdef PinnedBlock *get_pinned_block(size_t nbytes) except NULL       # with one reference, for the caller
cdef void release_pinned(PinnedBlock *block) noexcept               # drop one reference
# Add a reference, which is dropped when `stream` has done the work that it has now.
cdef int record_pinned_use(PinnedBlock *block, StreamSlot *stream) except -1
