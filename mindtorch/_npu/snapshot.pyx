"""Pictures of an allocator's memory, for torch.npu.memory_snapshot() and PyTorch's memory viewer.

What the lock guards is copied under it into plain records; Python objects, whose making may free tensors, come after.
"""
from cpython.ref cimport Py_XDECREF, Py_XINCREF, PyObject
from libc.stdint cimport intptr_t
from libc.stdlib cimport free, malloc

from mindtorch._npu.lock cimport acquire, release
from mindtorch._npu.records cimport Block, Segment
from mindtorch._npu.segments cimport SegmentCache


cdef enum State:
    INACTIVE
    ALLOCATED
    PENDING_FREE

STATES = ("inactive", "active_allocated", "active_pending_free")

cdef struct Copied:                  # a block
    intptr_t address
    size_t size
    size_t requested
    State state
    PyObject *context
    bint first                       # of a segment, or of a mapped part of an expandable one
    bint small
    bint expandable
    intptr_t stream
    long long pool_id[2]
    PyObject *segment_context


cdef Py_ssize_t count_blocks(SegmentCache allocator) noexcept:
    cdef Py_ssize_t count = 0
    cdef Segment *segment = allocator.segments
    cdef Block *block
    while segment != NULL:
        block = segment.first
        while block != NULL:
            count += 1
            block = block.next
        segment = segment.next
    return count


cdef void copy_block(Copied *copied, Block *block) noexcept:
    cdef Segment *segment = block.segment
    copied.address = <intptr_t>block.address
    copied.size = block.size
    copied.requested = block.requested
    copied.state = INACTIVE if block.requested == 0 else PENDING_FREE if is_freed(block) else ALLOCATED
    copied.first = block.previous == NULL or not block.previous.mapped
    copied.small = block.pool.small
    copied.expandable = segment.granule != 0
    copied.stream = <intptr_t>block.pool.stream.handle
    copied.pool_id[0] = 0 if block.pool.owner == NULL else block.pool.owner.id[0]
    copied.pool_id[1] = 0 if block.pool.owner == NULL else block.pool.owner.id[1]
    copied.context = block.context
    copied.segment_context = segment.context
    Py_XINCREF(copied.context)
    Py_XINCREF(copied.segment_context)


cdef bint is_freed(Block *block) noexcept:
    return block.retired or block.pending != 0


cdef Py_ssize_t copy_blocks(SegmentCache allocator, Copied *copies) noexcept:
    cdef Py_ssize_t count = 0
    cdef Segment *segment = allocator.segments
    cdef Block *block
    while segment != NULL:
        block = segment.first
        while block != NULL:
            if block.mapped:
                copy_block(copies + count, block)
                count += 1
            block = block.next
        segment = segment.next
    return count


cdef list frames_of(PyObject *context):
    return [] if context == NULL else (<object>context).frames()


cdef dict describe_block(Copied *copied):
    return {"address": copied.address, "size": copied.size, "requested_size": copied.requested,
            "state": STATES[<int>copied.state], "frames": frames_of(copied.context)}


cdef dict describe_segment(Copied *copied, int device):
    return {"device": device, "address": copied.address, "total_size": 0, "allocated_size": 0, "active_size": 0,
            "requested_size": 0, "stream": copied.stream, "segment_pool_id": (copied.pool_id[0], copied.pool_id[1]),
            "segment_type": "small" if copied.small else "large", "is_expandable": bool(copied.expandable),
            "frames": frames_of(copied.segment_context), "blocks": []}


cdef list describe(Copied *copies, Py_ssize_t count, int device):
    cdef list segments = []
    cdef dict segment = None
    cdef Copied *copied
    cdef Py_ssize_t number
    for number in range(count):
        copied = copies + number
        if copied.first:
            segment = describe_segment(copied, device)
            segments.append(segment)
        segment["blocks"].append(describe_block(copied))
        segment["total_size"] += copied.size
        segment["requested_size"] += copied.requested
        segment["allocated_size"] += copied.size if copied.state == ALLOCATED else 0
        segment["active_size"] += copied.size if copied.state != INACTIVE else 0
    segments.sort(key=lambda segment: segment["address"])
    return segments


def segments_of(SegmentCache allocator, pool_id=None):
    """Every segment of an allocator as a dictionary, by address; only those of one pool where `pool_id` is given."""
    cdef Copied *copies = NULL
    cdef Py_ssize_t room = 0
    cdef Py_ssize_t count, number
    while True:
        acquire(&allocator.lock)
        count = count_blocks(allocator)
        if count <= room:
            count = copy_blocks(allocator, copies) if room else 0
            release(&allocator.lock)
            break
        release(&allocator.lock)
        free(copies)
        room = count + count // 8
        copies = <Copied *>malloc(room * sizeof(Copied))
        if copies == NULL:
            raise MemoryError()
    try:
        segments = describe(copies, count, allocator.device)
    finally:
        for number in range(count):
            Py_XDECREF(copies[number].context)
            Py_XDECREF(copies[number].segment_context)
        free(copies)
    return segments if pool_id is None else [s for s in segments if s["segment_pool_id"] == tuple(pool_id)]
