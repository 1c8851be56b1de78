"""Pairs of allocate and free in a loop without the GIL: what a cached block costs by itself."""
from libc.stdlib cimport calloc, free

from mindtorch._npu.allocator cimport allocate_block, allocator_of, free_block, NpuAllocator
from mindtorch._npu.handles cimport current_stream
from mindtorch._npu.records cimport Block, StreamSlot


def pairs(size_t nbytes, long count):
    """Allocates and frees `nbytes`, `count` times."""
    cdef StreamSlot *stream = current_stream(0)
    cdef NpuAllocator allocator = allocator_of(0)
    cdef long _
    free_block(allocate_block(nbytes, stream))
    with nogil:
        for _ in range(count):
            allocator.give(allocator.take(nbytes, stream))


cdef class Live:
    """`count` blocks of sizes from 512 bytes to 64 KiB with as many free ones between them."""
    cdef Block **blocks
    cdef long count

    def __init__(self, long count):
        cdef long i
        self.count = 2 * count
        self.blocks = <Block **>calloc(2 * count, sizeof(void *))
        for i in range(2 * count):
            self.blocks[i] = allocate_block(1 + i * 7919 % 65536, current_stream(0))
        for i in range(0, 2 * count, 2):
            free_block(self.blocks[i])
            self.blocks[i] = NULL

    def __dealloc__(self):
        cdef long i
        for i in range(self.count):
            if self.blocks[i] != NULL:
                free_block(self.blocks[i])
        free(self.blocks)
