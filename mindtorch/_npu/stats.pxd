"""Counters of the caching allocator, under torch's names."""
from libc.stdint cimport int64_t


cdef enum:
    ALL = 0
    SMALL_POOL = 1
    LARGE_POOL = 2
    POOLS = 3

cdef enum StatKind:
    ALLOCATION
    SEGMENT
    ACTIVE
    INACTIVE_SPLIT
    ALLOCATED_BYTES
    RESERVED_BYTES
    ACTIVE_BYTES
    INACTIVE_SPLIT_BYTES
    REQUESTED_BYTES
    STAT_KINDS

cdef struct Stat:
    int64_t current
    int64_t peak
    int64_t allocated                # sum of all increases
    int64_t freed                    # sum of all decreases


cdef class MemoryStats:
    cdef Stat table[STAT_KINDS][POOLS]
    cdef public int64_t num_alloc_retries        # segments asked for again after all cached memory was given back
    cdef public int64_t num_ooms
    cdef public int64_t num_sync_all_streams
    cdef public int64_t num_device_alloc
    cdef public int64_t num_device_free
    cdef public int64_t num_oom_rejections       # out-of-memory errors that the policy throw_on_npumalloc_oom chose
    cdef Stat oversize_allocations               # blocks and segments of at least max_split_size_mb
    cdef Stat oversize_segments
    cdef readonly int64_t max_split_size         # as it was first; -1: unlimited

    cdef int64_t *counter(self, str key) except NULL


# `pools`: the row of one kind, as in stats.table[ALLOCATION].

cdef inline void raise_by(Stat *stat, int64_t amount) noexcept nogil:
    stat.current += amount
    stat.allocated += amount
    if stat.current > stat.peak:
        stat.peak = stat.current


cdef inline void lower_by(Stat *stat, int64_t amount) noexcept nogil:
    stat.current -= amount
    stat.freed += amount


cdef inline void increase(Stat *pools, bint small, int64_t amount) noexcept nogil:
    raise_by(pools + ALL, amount)
    raise_by(pools + (SMALL_POOL if small else LARGE_POOL), amount)


cdef inline void decrease(Stat *pools, bint small, int64_t amount) noexcept nogil:
    lower_by(pools + ALL, amount)
    lower_by(pools + (SMALL_POOL if small else LARGE_POOL), amount)


cdef inline void change(Stat *pools, bint small, int64_t amount) noexcept nogil:
    if amount > 0:
        increase(pools, small, amount)
    elif amount < 0:
        decrease(pools, small, -amount)
