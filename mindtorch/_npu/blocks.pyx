"""Blocks: torch's best-fit algorithm on the segments of one device. Nothing here calls the driver or needs the GIL.

1. A segment is cut into blocks that cover it. Free blocks stand in the tree of their pool, ordered by size and address.
2. A request takes the smallest free block that fits, and gives back what it does not need.
3. A freed block merges with free neighbours and may be reused at once by the same stream, whose order makes that safe.
   A block that other streams use is retired until events recorded on them have passed (allocator.pyx).

`lock` is held for a few dozen instructions at a time. A block that is worked on without it is out of every tree and
marked as allocated, so that nobody else merges or takes it.
"""
from libc.stdlib cimport calloc
from libc.string cimport memset

from mindtorch._npu.block_tree cimport next_priority, tree_insert, tree_remove
from mindtorch._npu.deferred cimport waiting
from mindtorch._npu.free_blocks cimport best_fit, insert_free, next_free, remove_free
from mindtorch._npu.lock cimport acquire, release
from mindtorch._npu.settings cimport DIVISION_CLASSES, settings
from mindtorch._npu.stats cimport (
    ACTIVE, ACTIVE_BYTES, ALLOCATED_BYTES, ALLOCATION, INACTIVE_SPLIT, INACTIVE_SPLIT_BYTES, REQUESTED_BYTES, change,
    decrease, increase, lower_by, raise_by)


cdef size_t divided_size(size_t size) noexcept nogil:
    """`size` rounded up as roundup_power2_divisions says; powers of two are kept."""
    cdef size_t floor = UNIT
    cdef int number = -11                # log2(floor / 1 MiB)
    cdef size_t divisions, part
    while floor <= size // 2:
        floor *= 2
        number += 1
    if number < 0:
        number = 0
    elif number >= DIVISION_CLASSES:
        number = DIVISION_CLASSES - 1
    divisions = settings.divisions[number]
    if divisions <= 1 or size <= UNIT * divisions:
        return (size + UNIT - 1) // UNIT * UNIT
    if floor == size:
        return size
    part = floor // divisions
    return (size + part - 1) // part * part


cdef inline bint is_split(Block *block) noexcept nogil:
    return block.previous != NULL or block.next != NULL


cdef inline size_t reach(Block *block) noexcept nogil:
    """How large an expandable block can get in place."""
    return block.size + (block.next.size if block.next != NULL and not block.next.mapped else 0)


cdef class BlockCache:
    """The blocks of one device."""

    def __cinit__(self, int device_id=0):
        self.device = device_id
        self._stats = MemoryStats()
        self.random = 2463534242

    cdef Block *take(self, size_t nbytes, StreamSlot *stream) except NULL nogil:
        """A block of at least `nbytes` > 0 for `stream`, and 32 bytes more."""
        cdef size_t size = round_size(nbytes)
        cdef Block *block = NULL
        acquire(&self.lock)
        if self.retired == NULL and not self.watched and waiting == 0:
            block = self.detach_fit(&stream.pools[<int>(size <= SMALL_LIMIT)], size)
            if block != NULL:
                block = self.hand_out(block, nbytes, size)
        release(&self.lock)
        if block == NULL:
            with gil:
                block = self.take_slowly(nbytes, stream)
        return block

    cdef void give(self, Block *block) noexcept nogil:
        """Takes back what `take` has given. Ready for reuse in stream order; calls no driver, never raises."""
        acquire(&self.lock)
        if self.watched or block.context != NULL:
            release(&self.lock)
            with gil:
                self.give_slowly(block)
            return
        self.retire(block)
        if block.uses == NULL:
            self.put_back(block)
        release(&self.lock)

    cdef Block *take_slowly(self, size_t nbytes, StreamSlot *stream) except NULL:
        raise NotImplementedError

    cdef void give_slowly(self, Block *block) noexcept:
        pass

    cdef Block *new_block(self) noexcept nogil:
        """A zeroed record; NULL when the host is out of memory."""
        cdef Block *block = self.spare
        if block == NULL:
            return <Block *>calloc(1, sizeof(Block))
        self.spare = block.left
        memset(block, 0, sizeof(Block))
        return block

    cdef void drop_block(self, Block *block) noexcept nogil:
        block.left = self.spare
        self.spare = block

    cdef Block *detach_fit(self, BlockPool *pool, size_t size) noexcept nogil:
        cdef Block *block = self.find(pool, size)
        if block != NULL:
            self.searches += not pool.small
            self.detach(block)
        return block

    cdef Block *align_start(self, Block *block, size_t size) noexcept nogil:
        """A detached block from its first aligned address on, where that leaves `size`; what lies before stays free."""
        cdef size_t alignment = settings.base_alignment
        cdef size_t past = <size_t>block.address % alignment if alignment != 0 else 0
        cdef Block *rest = NULL
        if past != 0 and block.size >= alignment - past + size:
            rest = self.cut(block, alignment - past)
        if rest == NULL:
            return block
        block.allocated = False
        self.insert(block)
        return rest

    cdef Block *find(self, BlockPool *pool, size_t size) noexcept nogil:
        """The free block that suits a request best; NULL where there is none."""
        cdef Block *block = best_fit(&pool.free, size)
        cdef Block *following
        if block == NULL:
            return NULL
        if block.segment.granule != 0:
            following = next_free(&pool.free, block)
            if not settings.expandable:      # switched off meanwhile: only other segments will do
                while block != NULL and block.segment.granule != 0:
                    block = next_free(&pool.free, block)
                return block
            while following != NULL and following.segment.granule != 0 and reach(following) < reach(block):
                block = following
                following = next_free(&pool.free, block)
            return block
        if size < settings.max_split_size:
            return block if block.size < settings.max_split_size else NULL
        return block if block.size < size + settings.max_non_split_rounding else NULL

    cdef Block *hand_out(self, Block *block, size_t nbytes, size_t size) noexcept nogil:
        """Makes a detached block the caller's, cut to `size` where the rest is worth it; returns what is left of it."""
        cdef bint small = block.pool.small
        cdef bint was_split = is_split(block)
        cdef bint fixed = block.segment.granule == 0
        cdef bint whole = block.pool.owner != NULL and block.pool.owner.no_split
        cdef size_t left
        cdef Block *rest = NULL
        if size >= ALIGNED_LIMIT and not fixed and not whole:
            block = self.align_start(block, size)
        left = block.size - size
        block.allocated = True
        if whole:
            left = 0
        elif small or not fixed:
            left = left if left >= UNIT else 0
        elif left <= SMALL_LIMIT or size >= settings.max_split_size:
            left = 0
        if left != 0:
            rest = self.cut(block, size)
        if rest != NULL:
            self.insert(rest)
        if fixed and was_split:
            decrease(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, block.size)
            if rest == NULL:
                decrease(self._stats.table[<int>INACTIVE_SPLIT], small, 1)
        elif fixed and rest != NULL:
            increase(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, rest.size)
            increase(self._stats.table[<int>INACTIVE_SPLIT], small, 1)
        block.requested = nbytes
        increase(self._stats.table[<int>ALLOCATION], small, 1)
        increase(self._stats.table[<int>ALLOCATED_BYTES], small, block.size)
        increase(self._stats.table[<int>ACTIVE], small, 1)
        increase(self._stats.table[<int>ACTIVE_BYTES], small, block.size)
        increase(self._stats.table[<int>REQUESTED_BYTES], small, nbytes)
        if block.size >= settings.max_split_size:
            raise_by(&self._stats.oversize_allocations, 1)
        return block

    cdef void retire(self, Block *block) noexcept nogil:
        """Counts the block as freed, and keeps it where other streams use it."""
        cdef bint small = block.pool.small
        decrease(self._stats.table[<int>ALLOCATION], small, 1)
        decrease(self._stats.table[<int>ALLOCATED_BYTES], small, block.size)
        if block.size >= settings.max_split_size:
            lower_by(&self._stats.oversize_allocations, 1)
        if block.uses != NULL:
            block.retired = True
            block.left = self.retired
            self.retired = block

    cdef void put_back(self, Block *block) noexcept nogil:
        """Makes a block that nobody uses any more a free one."""
        cdef bint small = block.pool.small
        cdef size_t merged = 0
        cdef int count = 0
        decrease(self._stats.table[<int>ACTIVE], small, 1)
        decrease(self._stats.table[<int>ACTIVE_BYTES], small, block.size)
        decrease(self._stats.table[<int>REQUESTED_BYTES], small, block.requested)
        block = self.join(block, &merged, &count)
        self.insert(block)
        if block.segment.granule == 0:
            if is_split(block):
                change(self._stats.table[<int>INACTIVE_SPLIT], small, 1 - count)
                change(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, <long long>(block.size - merged))
            else:
                change(self._stats.table[<int>INACTIVE_SPLIT], small, -count)
                change(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, -<long long>merged)

    cdef Block *join(self, Block *block, size_t *merged, int *count) noexcept nogil:
        """Marks a detached block as free and merges it with free neighbours; returns it, still detached.

        `merged` and `count` grow by what the neighbours had.
        """
        cdef Block *other
        block.requested = 0
        block.allocated = block.retired = False
        other = block.next
        if other != NULL and not other.allocated and other.mapped == block.mapped:
            self.detach(other)
            merged[0] += self.merge_next(block)
            count[0] += 1
        other = block.previous
        if other != NULL and not other.allocated and other.mapped == block.mapped:
            self.detach(other)
            merged[0] += other.size
            count[0] += 1
            self.merge_next(other)
            block = other
        return block

    cdef Block *cut(self, Block *block, size_t size) noexcept nogil:
        """Cuts a detached block to `size`; returns the rest, detached too. NULL: the host is out of memory."""
        cdef Block *rest = self.new_block()
        if rest == NULL:
            return NULL                  # the whole block serves as well
        rest.address = block.address + size
        rest.size = block.size - size
        rest.segment = block.segment
        rest.pool = block.pool
        rest.mapped = block.mapped
        rest.previous = block
        rest.next = block.next
        rest.freed_at = block.freed_at
        rest.priority = next_priority(&self.random)
        if rest.next != NULL:
            rest.next.previous = rest
        block.next = rest
        block.size = size
        return rest

    cdef size_t merge_next(self, Block *block) noexcept nogil:
        """Adds the detached block after `block` to it; returns how large that was."""
        cdef Block *gone = block.next
        cdef size_t size = gone.size
        block.size += size
        block.next = gone.next
        if gone.next != NULL:
            gone.next.previous = block
        self.drop_block(gone)
        return size

    cdef void insert(self, Block *block) noexcept nogil:
        block.freed_at = self.searches
        if block.mapped:
            insert_free(&block.pool.free, block)
        else:
            tree_insert(&block.pool.unmapped, block)

    cdef void detach(self, Block *block) noexcept nogil:
        if block.mapped:
            remove_free(&block.pool.free, block)
        else:
            tree_remove(&block.pool.unmapped, block)
