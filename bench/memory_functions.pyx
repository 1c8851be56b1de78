"""The allocator as two C functions, for the loop of pairs.c, which is called with the GIL held."""
from libc.stdint cimport intptr_t

from mindtorch._npu.allocator cimport allocate_block, free_block
from mindtorch._npu.streams cimport current_stream
from mindtorch._npu.structs cimport Block, StreamSlot

cdef StreamSlot *stream = current_stream(0)


cdef void *take(size_t nbytes) noexcept:
    return allocate_block(nbytes, stream)


cdef void give(void *block) noexcept:
    free_block(<Block *>block)


def addresses():
    return <intptr_t>&take, <intptr_t>&give
