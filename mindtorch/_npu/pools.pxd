"""The pools that blocks come from."""
from mindtorch._npu.records cimport BlockPool, PrivatePool, StreamSlot
from mindtorch._npu.segments cimport SegmentCache


cdef class PoolCache(SegmentCache):
    cdef PrivatePool *private_pools
    # [(id of a private pool, thread or capture)]: where the blocks of a thread, or of streams, come from; last first
    cdef list routes

    cdef BlockPool *choose_pool(self, StreamSlot *stream, bint small) except NULL
    cdef BlockPool *pool_of(self, PrivatePool *owner, StreamSlot *stream, bint small) except NULL
    cdef PrivatePool *find_pool(self, tuple pool_id) noexcept
    cdef bint owns_segments(self, PrivatePool *owner) noexcept
