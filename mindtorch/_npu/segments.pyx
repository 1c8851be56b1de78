"""Segments of device memory: from the driver and back to it. Everything here runs under the GIL.

1. A segment is one aclrtMalloc, or the memory that an NPUPluggableAllocator gave for one.
2. An expandable segment is a range of addresses as large as the device's memory. Memory is mapped into it granule by
   granule as its blocks need it: one segment grows where many would leave gaps.

The GIL is given up around driver calls, so other threads go on meanwhile. What goes back to the driver is first taken
out of reach, then the device is waited for, since streams may still work on what was freed in their order.
"""
import threading

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc, free

from mindtorch._npu.block_tree cimport next_priority, tree_next
from mindtorch._npu.cann.acl_base_rt cimport ACL_ERROR_RT_MEMORY_ALLOCATION
from mindtorch._npu.cann.acl_rt cimport (
    ACL_HBM_MEM_HUGE, ACL_HBM_MEM_HUGE1G, ACL_MEM_ALLOCATION_TYPE_PINNED, ACL_MEM_HANDLE_TYPE_NONE,
    ACL_MEM_LOCATION_TYPE_DEVICE, ACL_MEM_MALLOC_HUGE1G_ONLY, ACL_MEM_MALLOC_HUGE_FIRST, aclrtDrvMemHandle,
    aclrtMemMallocPolicy, aclrtPhysicalMemProp)
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport use_device
from mindtorch._npu.lock cimport acquire, release
from mindtorch._npu.settings cimport settings
from mindtorch._npu.stats cimport RESERVED_BYTES, SEGMENT, decrease, increase, lower_by, raise_by
from mindtorch._npu.symbols cimport api


cdef enum:
    SMALL_GRANULE = 2 * 1024 * 1024
    GIGABYTE_PAGE = 1024 * 1024 * 1024
    HUGE_PAGES = 1                   # flag of aclrtReserveMemAddress


FREE_MUTEX = threading.RLock()           # who holds it lets nobody else give memory back to the driver


cdef class SegmentCache(BlockCache):
    """The segments of one device."""

    cdef Block *add_segment(self, BlockPool *pool, size_t size, object context) except? NULL:
        cdef void *address
        cdef Segment *segment
        use_device(self.device)
        address = self.get_memory(pool, size)
        if address == NULL:
            return NULL
        segment = self.new_segment(pool, address, size)
        if context is not None:
            Py_INCREF(context)
            segment.context = <PyObject *>context
        acquire(&self.lock)
        segment.first.mapped = True
        increase(self._stats.table[<int>SEGMENT], pool.small, 1)
        increase(self._stats.table[<int>RESERVED_BYTES], pool.small, size)
        if size >= settings.max_split_size:
            raise_by(&self._stats.oversize_segments, 1)
        self._stats.num_device_alloc += 1
        release(&self.lock)
        self.trace("segment_alloc", address, size, pool, context)
        return segment.first

    cdef void *get_memory(self, BlockPool *pool, size_t size) except? NULL:
        """NULL where the driver, or who stands in for it, has no room."""
        cdef void *address = NULL
        cdef aclrtMemMallocPolicy policy = ACL_MEM_MALLOC_HUGE_FIRST
        cdef int status
        source = self.source if pool.owner == NULL or pool.owner.source == NULL else <object>pool.owner.source
        if source is not None:
            return <void *><intptr_t>source.allocate(size, self.device, <intptr_t>pool.stream.handle)
        if size % GIGABYTE_PAGE == 0 and settings.segment_unit == GIGABYTE_PAGE:
            policy = ACL_MEM_MALLOC_HUGE1G_ONLY
        with nogil:
            status = api.aclrtMalloc(&address, size, policy)
        if status != 0 and status != ACL_ERROR_RT_MEMORY_ALLOCATION:
            check(status, b"aclrtMalloc")
        return address if status == 0 else NULL

    cdef int put_memory(self, Segment *segment) except -1:
        cdef int status
        cdef PrivatePool *owner = segment.pool.owner
        source = self.source if owner == NULL or owner.source == NULL else <object>owner.source
        if source is not None:
            source.free(<intptr_t>segment.address, segment.size, self.device, <intptr_t>segment.pool.stream.handle)
            return 0
        with nogil:
            if segment.granule != 0:
                status = api.aclrtReleaseMemAddress(segment.address)
            else:
                status = api.aclrtFree(segment.address)
        return check(status, b"aclrtFree" if segment.granule == 0 else b"aclrtReleaseMemAddress")

    cdef Segment *new_segment(self, BlockPool *pool, void *address, size_t size) except NULL:
        """The record of a segment, entered, with one block that covers it and is out of reach."""
        cdef Segment *segment = <Segment *>calloc(1, sizeof(Segment))
        cdef Block *block = NULL
        if segment != NULL:
            segment.address = address
            segment.size = size
            segment.pool = pool
            segment.allocator = <void *>self
            acquire(&self.lock)
            block = segment.first = self.new_block()
            if block != NULL:
                block.address = <char *>address
                block.size = size
                block.segment = segment
                block.pool = pool
                block.allocated = True
                block.priority = next_priority(&self.random)
                segment.next = self.segments
                if self.segments != NULL:
                    self.segments.previous = segment
                self.segments = segment
                pool.stream.segments += 1
            release(&self.lock)
        if block == NULL:
            if segment != NULL:
                self.put_memory(segment)
            free(segment)
            raise MemoryError()
        return segment

    # Back to the driver

    cdef int wait_for_device(self) except -1:
        use_device(self.device)
        with nogil:
            check(api.aclrtSynchronizeDevice(), b"aclrtSynchronizeDevice")
        return 0

    cdef bint detach_unused(self, PrivatePool *owner) noexcept:
        """Takes what no block uses out of reach, in the pools of `owner`; returns whether there is anything."""
        cdef Segment *segment
        cdef Segment *following
        acquire(&self.lock)
        segment = self.segments
        while segment != NULL:
            following = segment.next
            if segment.pool.owner == owner:
                if segment.granule != 0:
                    self.detach_pages(segment)
                if self.is_unused(segment):
                    self.detach_segment(segment)
            segment = following
        release(&self.lock)
        return self.unwanted != NULL or self.unwanted_pages != NULL

    cdef bint is_unused(self, Segment *segment) noexcept nogil:
        """Whether one free block covers it: of an expandable one, a block without memory."""
        cdef Block *block = segment.first
        if block.allocated or block.next != NULL:
            return False
        return segment.granule == 0 or not (block.mapped or self.keep_physical)

    cdef void detach_segment(self, Segment *segment) noexcept:
        """The same for one segment whose only block is free. Under the lock."""
        self.detach(segment.first)
        self.unlink(segment)
        segment.next = self.unwanted
        self.unwanted = segment

    cdef void unlink(self, Segment *segment) noexcept:
        self.drop_block(segment.first)
        if segment.previous != NULL:
            segment.previous.next = segment.next
        else:
            self.segments = segment.next
        if segment.next != NULL:
            segment.next.previous = segment.previous
        segment.pool.stream.segments -= 1

    cdef int release_detached(self) except -1:
        """Gives back what is out of reach. What the driver refuses is tried again the next time."""
        cdef Segment *segment
        cdef Block *block
        with FREE_MUTEX:
            while self.unwanted_pages != NULL:       # whose segments may follow
                block = self.unwanted_pages
                self.unwanted_pages = block.left
                self.release_pages(block)
            while self.unwanted != NULL:
                segment = self.unwanted
                self.unwanted = segment.next
                try:
                    self.release_segment(segment)
                except BaseException:
                    segment.next = self.unwanted
                    self.unwanted = segment
                    raise
        return 0

    cdef int release_segment(self, Segment *segment) except -1:
        cdef size_t number
        use_device(self.device)
        if segment.granule != 0:
            for number in range(segment.size // segment.granule):
                if segment.handles[number] != NULL:
                    check(free_physical(&segment.handles[number]), b"aclrtFreePhysical")
        self.put_memory(segment)
        acquire(&self.lock)
        if segment.granule == 0:
            decrease(self._stats.table[<int>SEGMENT], segment.pool.small, 1)
            decrease(self._stats.table[<int>RESERVED_BYTES], segment.pool.small, segment.size)
            if segment.size >= settings.max_split_size:
                lower_by(&self._stats.oversize_segments, 1)
            self._stats.num_device_free += 1
        release(&self.lock)
        if segment.granule == 0:
            context = None if segment.context == NULL else <object>segment.context
            self.trace("segment_free", segment.address, segment.size, segment.pool, context)
        Py_XDECREF(segment.context)
        free(segment.handles)
        free(segment)
        return 0

    # Expandable segments

    cdef Block *grow(self, BlockPool *pool, size_t size, object context) except? NULL:
        """A block made of free ones with memory mapped between them, at the lowest address where it fits."""
        cdef Block *first
        cdef Block *last
        cdef char *end
        cdef char *address = NULL
        cdef size_t total = 0
        cdef size_t merged = 0
        cdef int count = 0
        use_device(self.device)
        acquire(&self.lock)
        first = self.find_run(pool, size)
        release(&self.lock)
        if first == NULL and not self.reserve_addresses(pool):
            return NULL
        acquire(&self.lock)
        first = self.find_run(pool, size)        # others may have changed it while addresses were reserved
        last = NULL if first == NULL else self.detach_run(first, size)
        release(&self.lock)
        if last == NULL:
            return NULL
        mapped = False
        try:
            mapped = self.map_run(first, last)
        finally:
            acquire(&self.lock)
            if mapped:
                end = last.address + last.size
                while first.address + first.size < end:
                    self.merge_next(first)
                address, total = first.address, first.size
                first = self.join(first, &merged, &count)        # what follows may be free as well
                first.allocated = True
            else:
                self.undo_run(first, last)
            release(&self.lock)
        if not mapped:
            return NULL
        self.trace("segment_map", address, total, pool, context)
        return first

    cdef int map_run(self, Block *first, Block *last) except -1:
        """Gives all blocks of a detached run memory; 0 where there is not enough."""
        cdef Block *block = first
        while True:
            if not block.mapped:
                if not self.map_block(block):
                    return 0
                acquire(&self.lock)
                block.mapped = True
                increase(self._stats.table[<int>RESERVED_BYTES], block.pool.small, block.size)
                self._stats.num_device_alloc += 1
                release(&self.lock)
            if block == last:
                return 1
            block = block.next

    cdef int map_block(self, Block *block) except -1:
        """Gives one unmapped block memory; 0, and nothing changed, where there is not enough."""
        cdef aclrtPhysicalMemProp properties
        cdef Segment *segment = block.segment
        cdef size_t granule = segment.granule
        cdef char *address = block.address
        cdef aclrtDrvMemHandle *handle
        cdef int status = 0
        cdef int ignored = 0
        cdef const char *function
        properties.handleType = ACL_MEM_HANDLE_TYPE_NONE
        properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED
        properties.memAttr = ACL_HBM_MEM_HUGE1G if granule % GIGABYTE_PAGE == 0 else ACL_HBM_MEM_HUGE
        properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = self.device
        properties.reserve = 0
        use_device(self.device)
        while address < block.address + block.size:
            handle = &segment.handles[(address - <char *>segment.address) // granule]
            with nogil:
                function = b"aclrtMallocPhysical"
                if handle[0] == NULL:        # else its memory was kept
                    status = api.aclrtMallocPhysical(handle, granule, &properties, 0)
                if status == 0:
                    function = b"aclrtMapMem"
                    status = api.aclrtMapMem(address, granule, 0, handle[0], 0)
            if status != 0:
                if handle[0] != NULL:
                    free_physical(handle)
                unmap_pages(segment, block.address, address, False, &ignored)
                if status != ACL_ERROR_RT_MEMORY_ALLOCATION:
                    check(status, function)
                return 0
            address += granule
        return 1

    cdef int reserve_addresses(self, BlockPool *pool) except -1:
        """Adds a segment without memory; 0 where no addresses are left."""
        cdef void *address = NULL
        cdef size_t granule = SMALL_GRANULE if pool.small else settings.large_segment
        cdef size_t size = self._mem_get_info()[1] // 8 * 9 // granule * granule + granule
        cdef aclrtDrvMemHandle *handles = <aclrtDrvMemHandle *>calloc(size // granule, sizeof(aclrtDrvMemHandle))
        cdef Segment *segment
        cdef int status
        if handles == NULL:
            raise MemoryError()
        with nogil:
            status = api.aclrtReserveMemAddress(&address, size, 0, NULL, HUGE_PAGES)
        if status != 0:
            free(handles)
            if status != ACL_ERROR_RT_MEMORY_ALLOCATION:
                check(status, b"aclrtReserveMemAddress")
            return 0
        try:
            segment = self.new_segment(pool, address, size)
        except BaseException:
            free(handles)
            raise
        segment.granule = granule
        segment.handles = handles
        acquire(&self.lock)
        segment.first.allocated = False
        self.insert(segment.first)
        release(&self.lock)
        return 1

    cdef Block *find_run(self, BlockPool *pool, size_t size) noexcept nogil:
        """The first of neighbouring free blocks, mapped or not, that hold `size` together: those lowest in memory."""
        cdef Block *unmapped = pool.unmapped.first
        cdef Block *found = NULL
        cdef Block *first
        cdef Block *block
        cdef size_t total
        while unmapped != NULL:
            first = unmapped.previous
            if first == NULL or first.allocated:
                first = unmapped
            total = 0
            block = first
            while block != NULL and not block.allocated and total < size:
                total += block.size
                block = block.next
            if total >= size and (found == NULL or first.address < found.address):
                found = first
            unmapped = tree_next(&pool.unmapped, unmapped)
        return found

    cdef Block *detach_run(self, Block *first, size_t size) noexcept nogil:
        """Takes the blocks from `first` on that hold `size` out of reach; returns the last, cut to whole granules."""
        cdef Block *block = first
        cdef Block *rest
        cdef size_t granule = first.segment.granule
        cdef size_t wanted
        while True:
            self.detach(block)
            block.allocated = True
            if block.size >= size:
                break
            size -= block.size
            block = block.next
        wanted = (size + granule - 1) // granule * granule
        if not block.mapped and wanted < block.size:
            rest = self.cut(block, wanted)
            if rest != NULL:
                self.insert(rest)
        return block

    cdef void undo_run(self, Block *first, Block *last) noexcept nogil:
        """Puts the blocks of a detached run back where they were."""
        cdef Block *block = first
        cdef Block *following
        cdef char *end = last.address + last.size
        cdef size_t merged = 0
        cdef int count = 0
        while block != NULL and block.address < end:
            following = block.next
            self.insert(self.join(block, &merged, &count))
            block = following

    cdef void detach_pages(self, Segment *segment) noexcept nogil:
        """Takes whole granules that no block uses out of reach. Under the lock."""
        cdef size_t granule = segment.granule
        cdef char *base = <char *>segment.address
        cdef Block *block = segment.first
        cdef Block *rest
        cdef char *start
        cdef char *end
        while block != NULL:
            start = base + (block.address - base + granule - 1) // granule * granule
            end = base + (block.address + block.size - base) // granule * granule
            if not block.allocated and block.mapped and start < end:
                self.detach(block)
                if block.address < start:
                    rest = self.cut(block, start - block.address)
                    self.insert(block)
                    block = block if rest == NULL else rest
                if block.address == start:
                    rest = self.cut(block, end - start) if block.address + block.size > end else NULL
                    if rest != NULL:
                        self.insert(rest)
                    if block.address + block.size == end:
                        block.allocated = True
                        block.left = self.unwanted_pages
                        self.unwanted_pages = block
                    else:
                        self.insert(block)
            block = block.next

    cdef int release_pages(self, Block *block) except -1:
        """Unmaps a detached block of whole granules; a segment without any memory goes, too."""
        cdef Segment *segment = block.segment
        cdef BlockPool *pool = block.pool
        cdef char *start = block.address
        cdef Block *rest = NULL
        cdef char *end
        cdef size_t merged = 0
        cdef int count = 0
        cdef int status = 0
        use_device(self.device)
        end = unmap_pages(segment, start, start + block.size, self.keep_physical, &status)
        acquire(&self.lock)
        if end != start + block.size:        # refused on the way: the rest stays as it is
            rest = self.cut(block, end - start) if end != start else block
            if rest != NULL:
                self.insert(self.join(rest, &merged, &count))
        if end != start:
            decrease(self._stats.table[<int>RESERVED_BYTES], pool.small, end - start)
            self._stats.num_device_free += 1
            block.mapped = False
            block = self.join(block, &merged, &count)
            if block.size == segment.size and not self.keep_physical:
                self.unlink(segment)
            else:
                self.insert(block)
                segment = NULL
        else:
            segment = NULL
        release(&self.lock)
        if end != start:
            self.trace("segment_unmap", start, end - start, pool, None)
        if segment != NULL:
            segment.next = self.unwanted
            self.unwanted = segment
        return check(status, b"aclrtUnmapMem")

    cdef int trace(self, str action, void *address, size_t size, BlockPool *pool, object context) except -1:
        """Notes an event where history is recorded."""
        if self.history is not None:
            self.history.record(action, <intptr_t>address, size, <intptr_t>pool.stream.handle, pool_id(pool), context)
        return 0


cdef tuple pool_id(BlockPool *pool):
    if pool.owner == NULL:
        return 0, 0
    return pool.owner.id[0], pool.owner.id[1]


cdef int free_physical(aclrtDrvMemHandle *handle) noexcept:
    cdef int status
    with nogil:
        status = api.aclrtFreePhysical(handle[0])
    if status == 0:
        handle[0] = NULL                 # else it serves when the granule is mapped the next time
    return status


cdef char *unmap_pages(Segment *segment, char *start, char *end, bint keep_physical, int *status) noexcept:
    """Takes the memory from the granules between two addresses; returns how far it got."""
    cdef aclrtDrvMemHandle *handle
    while start < end:
        handle = &segment.handles[(start - <char *>segment.address) // segment.granule]
        with nogil:
            status[0] = api.aclrtUnmapMem(start)
        if status[0] != 0:
            break
        start += segment.granule
        if not keep_physical:
            status[0] = free_physical(handle)
            if status[0] != 0:
                break
    return start
