"""Private pools: segments that only those use who ask for them (MemPool, graphs). All of it runs under the GIL."""
import threading

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc, free

from mindtorch._npu.records cimport Segment


cdef class PoolCache(SegmentCache):
    """The pools of one device."""

    def __cinit__(self):
        self.routes = []

    cdef BlockPool *choose_pool(self, StreamSlot *stream, bint small) except NULL:
        if self.routes:
            thread = threading.get_ident()
            for number, owner in reversed(self.routes):
                if owner == (thread, 0) or owner == (0, <intptr_t>stream.capture):
                    return self.pool_of(self.find_pool(number), stream, small)
        return &stream.pools[<int>small]

    cdef BlockPool *pool_of(self, PrivatePool *owner, StreamSlot *stream, bint small) except NULL:
        cdef BlockPool *pool = owner.pools
        while pool != NULL and (pool.stream != stream or pool.small != small):
            pool = pool.next
        if pool == NULL:
            pool = <BlockPool *>calloc(1, sizeof(BlockPool))
            if pool == NULL:
                raise MemoryError()
            pool.small = small
            pool.stream = stream
            pool.owner = owner
            pool.next = owner.pools
            owner.pools = pool
        return pool

    cdef PrivatePool *find_pool(self, tuple number) noexcept:
        cdef PrivatePool *owner = self.private_pools
        while owner != NULL and (owner.id[0] != number[0] or owner.id[1] != number[1]):
            owner = owner.next
        return owner

    def hold_pool(self, tuple number, source=None, bint use_on_oom=False, bint no_split=False):
        """Counts one more user of the private pool, which is made where there is none of this id."""
        cdef PrivatePool *owner = self.find_pool(number)
        if owner == NULL:
            owner = <PrivatePool *>calloc(1, sizeof(PrivatePool))
            if owner == NULL:
                raise MemoryError()
            owner.id[0], owner.id[1] = number
            owner.use_on_oom = use_on_oom
            owner.no_split = no_split
            if source is not None:
                Py_INCREF(source)
                owner.source = <PyObject *>source
            owner.next = self.private_pools
            self.private_pools = owner
        owner.uses += 1

    def pool_uses(self, tuple number):
        cdef PrivatePool *owner = self.find_pool(number)
        return 0 if owner == NULL else owner.uses

    def _forget_pools(self):
        """Drops the records of private pools that have neither users nor memory."""
        cdef PrivatePool **link = &self.private_pools
        cdef PrivatePool *owner
        cdef BlockPool *pool
        while link[0] != NULL:
            owner = link[0]
            if owner.uses == 0 and not self.owns_segments(owner):
                link[0] = owner.next
                while owner.pools != NULL:
                    pool = owner.pools
                    owner.pools = pool.next
                    free(pool)
                Py_XDECREF(owner.source)
                free(owner)
            else:
                link = &owner.next

    cdef bint owns_segments(self, PrivatePool *owner) noexcept:
        cdef Segment *segment
        cdef bint found = False
        for start in range(2):
            segment = self.segments if start == 0 else self.unwanted
            while segment != NULL and not found:
                found = segment.pool.owner == owner
                segment = segment.next
        return found
