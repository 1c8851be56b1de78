"""The C records that streams, events and memory share.

An allocator's lock guards segments, blocks and pools. The GIL guards every other field: whoever reads or writes one
holds it, and gives it up only between consistent states.
Records of streams and events live until the process ends, so a pointer to one never dangles.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from mindtorch._npu.cann cimport aclmdlRI, aclrtDrvMemHandle, aclrtEvent, aclrtStream


cdef struct EventSlot:
    aclrtEvent handle            # NULL once destroyed
    int device
    int kind                     # EventKind of handles.pxd
    EventSlot *next              # among the idle ones of its device and kind
    EventSlot *next_made         # among all events of the process

cdef struct Deferred:            # something to release once a stream has passed a point
    EventSlot *event
    void (*release)(void *argument) noexcept
    void *argument
    Deferred *next

cdef struct Capture:             # a graph, from the beginning of its capture to its end
    aclmdlRI graph               # as the driver calls it
    int device
    Deferred *held               # what its tasks use: released with it
    Block *workspaces            # the same of the scratch memory of tasks that were updated; linked by `left`
    Capture *next                # among those that are being captured

cdef struct PrivatePool:         # the segments of a MemPool or of graphs
    long long id[2]
    int uses                     # of torch.npu.use_mem_pool and MemPool objects; at 0 its segments may be given back
    bint use_on_oom              # others may take its free blocks before they run out of memory
    bint no_split                # its blocks are whole segments
    PyObject *source             # NPUPluggableAllocator; NULL: the driver
    BlockPool *pools
    PrivatePool *next

cdef enum:
    FREE_CLASSES = 1024
    FREE_WORDS = 16              # of a bit for each

cdef struct BlockTree:           # see block_tree.pxd
    Block *root
    Block *first

cdef struct FreeBlocks:          # see free_blocks.pxd
    uint64_t filled[FREE_WORDS]
    BlockTree trees[FREE_CLASSES]

cdef struct BlockPool:           # the blocks of one stream, small ones or large ones
    FreeBlocks free
    BlockTree unmapped           # address ranges without memory (expandable segments)
    bint small
    StreamSlot *stream           # whose work alone may use its blocks without waiting
    PrivatePool *owner           # NULL: the default pool
    BlockPool *next              # among its owner's

cdef struct Segment:             # one piece of memory from the driver, cut into blocks that cover it exactly
    void *address
    size_t size                  # of an expandable one: of its range of addresses
    size_t granule               # expandable: bytes of one handle; 0: from aclrtMalloc
    aclrtDrvMemHandle *handles   # expandable: by granule, NULL where no memory is mapped
    BlockPool *pool
    void *allocator              # NpuAllocator, which is never freed
    Block *first
    PyObject *context            # where it was allocated, while history is recorded
    Segment *previous
    Segment *next

cdef struct StreamUse:           # another stream that works on a block (record_stream)
    StreamSlot *stream
    StreamUse *next

cdef struct Block:               # first what searches and neighbours read: half of it, a cache line
    char *address
    size_t size
    Block *left                  # in a tree of free blocks; `left` also links lists of blocks out of reach
    Block *right
    Block *parent
    uint32_t priority
    bint allocated               # handed out, or freed and waiting for other streams, or out of reach for a while
    bint mapped                  # has memory; else only addresses
    bint retired                 # freed and waiting for other streams
    Segment *segment
    BlockPool *pool
    Block *previous              # neighbours in the segment, by address
    Block *next
    size_t requested             # what the caller asked for; 0 while free
    StreamUse *uses
    long long freed_at           # how often a free block had been looked for then
    PyObject *context            # where it was allocated, while history is recorded
    int pending                  # events that a retired block still waits for

cdef struct StreamSlot:
    aclrtStream handle           # NULL once destroyed
    int device
    int number                   # Stream.stream_id: StreamKind of handles.pxd << 5, and which; 0: the default stream
    int priority                 # 0 or -1; CANN takes no notice of it
    int holders                  # Stream objects; without any it is idle and may be destroyed, until it is asked for
    StreamSlot *next             # among all streams of the process
    void *allocator              # NpuAllocator of the device
    BlockPool pools[2]           # of the default pool, by `small`
    int segments                 # how many the stream owns
    int launches                 # phase-2 calls under way without the GIL
    Capture *capture             # that stores the stream's work; NULL: its work is done
    bint updates                 # whether that replaces tasks which the graph has already
    Deferred *first_deferred     # in the order of their events
    Deferred *last_deferred
    int deferred
