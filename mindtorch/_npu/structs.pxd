"""The C structs of streams, events and memory, which refer to each other.

The allocator's lock protects segments, blocks and pools. The GIL protects all other fields: a function that changes
some of them releases the GIL only when they are consistent again.
StreamSlots and EventSlots are never freed, so pointers to them stay valid.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from mindtorch._npu.cann cimport aclmdlRI, aclrtDrvMemHandle, aclrtEvent, aclrtStream


cdef struct EventSlot:
    aclrtEvent handle            # NULL once destroyed
    int device
    int kind                     # an EventKind of streams.pxd
    int waiters                  # threads that wait for it without the GIL
    EventSlot *next              # in the list of idle events of its device and kind
    EventSlot *next_made         # in the list of all events of the process

cdef struct Deferred:            # a release that happens when a stream has reached `event`
    EventSlot *event
    void (*release)(void *argument) noexcept
    void *argument
    Deferred *next

cdef struct Capture:             # a graph that is being captured, or has been
    aclmdlRI graph               # the driver's handle of the capture
    int device
    Deferred *held               # releases that happen when the graph is reset: its tasks use these objects
    Block *workspaces            # workspaces of updated tasks, freed with the graph; linked by `left`
    Capture *next                # in the list of captures under way

cdef struct PrivatePool:         # the segments of a MemPool or of graphs
    long long id[2]
    int uses                     # by MemPool objects, use_mem_pool and graphs; at 0 its segments may be freed
    bint use_on_oom              # other requests may take its free blocks when memory has run out
    bint no_split                # each block is a whole segment
    PyObject *source             # NPUPluggableAllocator; NULL: the driver
    BlockPool *pools
    PrivatePool *next

cdef enum:
    FREE_CLASSES = 1024
    FREE_WORDS = 16              # 64-bit words for one bit a class

cdef struct BlockTree:           # a treap: see free_blocks.pxd
    Block *root
    Block *first

cdef struct FreeBlocks:          # see free_blocks.pxd
    uint64_t filled[FREE_WORDS]  # a bit for each tree: it is not empty
    BlockTree trees[FREE_CLASSES]

cdef struct BlockPool:           # the small or the large blocks of one stream
    FreeBlocks free
    BlockTree unmapped           # free address ranges without memory (expandable segments)
    bint small
    StreamSlot *stream           # the stream that its blocks are allocated for
    PrivatePool *owner           # NULL: the default pool
    BlockPool *next              # in the list of its owner

cdef struct Segment:             # memory from the driver; its blocks cover all of it
    void *address
    size_t size                  # of an expandable segment: of its address range
    size_t granule               # of an expandable segment: bytes of one physical handle; 0: a segment of aclrtMalloc
    aclrtDrvMemHandle *handles   # of an expandable segment: one for each granule, NULL without memory
    BlockPool *pool
    void *allocator              # the NpuAllocator, which is never freed
    Block *first
    PyObject *context            # the stack at its allocation, if memory history is recorded
    Segment *previous
    Segment *next

cdef struct StreamUse:           # another stream that uses a block (record_stream)
    StreamSlot *stream
    StreamUse *next

cdef struct Block:               # the first 64 bytes, a cache line, hold what a search reads
    char *address
    size_t size
    Block *left                  # in a tree of free blocks; `left` also links blocks in lists
    Block *right
    Block *parent
    uint32_t priority
    bint allocated               # in use, retired, or taken out of the pool for a moment
    bint mapped                  # it has memory; else only addresses
    bint retired                 # freed, but other streams still use it
    Segment *segment
    BlockPool *pool
    Block *previous              # neighbours in the segment, by address
    Block *next
    size_t requested_size        # bytes that the caller asked for; 0 while the block is free
    StreamUse *uses
    long long freed_at           # the allocator's `searches` when the block became free
    PyObject *context            # the stack at its allocation, if memory history is recorded
    int event_count              # events that a retired block waits for

cdef struct StreamSlot:
    aclrtStream handle           # NULL once destroyed
    int device
    int number                   # Stream.stream_id: StreamKind << POOL_BITS | index in the pool; 0: the default stream
    int priority                 # 0 or -1; CANN ignores it
    int holders                  # Stream objects; at 0 the driver's stream is idle and may be destroyed
    StreamSlot *next             # in the list of all streams of the process
    void *allocator              # the NpuAllocator of the device
    BlockPool pools[2]           # outside private pools, by `small`
    int segments                 # segments that were allocated for the stream
    int launches                 # driver calls that submit work and are under way without the GIL
    Capture *capture             # the capture that stores the stream's work; NULL: the work runs
    bint updates                 # the stream's work replaces tasks of `capture`, which has ended
    Deferred *first_deferred     # a queue, in the order of the events
    Deferred *last_deferred
    int deferred_count           # its length
