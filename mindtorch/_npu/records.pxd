"""The C records that streams, events and memory share.

The GIL guards every field: whoever reads or writes one holds it, and gives it up only between consistent states.
Records of streams and events live until the process ends, so a pointer to one never dangles.
"""
from libc.stdint cimport uint32_t

from mindtorch._npu.cann.acl_base_rt cimport aclrtEvent, aclrtStream


cdef struct EventSlot:
    aclrtEvent handle            # NULL once destroyed
    int device
    bint timing
    EventSlot *next              # among the idle ones of its device and kind
    EventSlot *next_made         # among all events of the process

cdef struct Deferred:            # something to release once a stream has passed a point
    EventSlot *event
    void (*release)(void *argument) noexcept
    void *argument
    Deferred *next

cdef struct Segment:             # one piece of memory from the driver, cut into blocks that cover it exactly
    void *address
    size_t size
    bint small                   # holds blocks of the small pool
    StreamSlot *stream           # whose work alone may use its blocks without waiting
    void *allocator              # NpuAllocator, which is never freed
    Block *first
    Segment *previous
    Segment *next

cdef struct StreamUse:           # another stream that works on a block (record_stream)
    StreamSlot *stream
    StreamUse *next

cdef struct Block:
    char *address
    size_t size
    size_t requested             # what the caller asked for; 0 while free
    Segment *segment
    Block *previous              # neighbours in the segment, by address
    Block *next
    bint allocated               # handed out, or freed and waiting for other streams
    bint retired                 # freed and waiting for other streams
    int pending                  # events that a retired block still waits for
    StreamUse *uses
    Block *left                  # in the tree of free blocks of its stream; `left` also links retired blocks
    Block *right
    uint32_t priority

cdef struct StreamSlot:
    aclrtStream handle           # NULL once destroyed
    int device
    int number                   # Stream.stream_id; 0: the device's default stream
    int priority                 # 0 or -1; CANN takes no notice of it
    int holders                  # Stream objects; a stream without any is idle and may be handed out again
    StreamSlot *next             # among all streams of the process
    void *allocator              # NpuAllocator of the device
    Block *small_blocks          # trees of free blocks
    Block *large_blocks
    int segments                 # how many the stream owns
    Block *workspace             # grows; ops use it one after another
    Block *old_workspaces        # replaced while a launch was under way; linked by `left`
    int launches                 # phase-2 calls under way without the GIL
    Deferred *first_deferred     # in the order of their events
    Deferred *last_deferred
    int deferred
