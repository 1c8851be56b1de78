"""Scratch memory of operators: one growing block a stream.

Ops of one stream run one after another and may share it. When it must grow, the old block goes back to the allocator
in stream order: queued ops still use it safely. Only a launch that another thread has under way, its op not in the
queue yet, must be waited for; such a block is put aside until then.
"""
from mindtorch._npu.allocator cimport allocate_block, free_block
from mindtorch._npu.records cimport Block, StreamSlot


cdef enum:
    GRANULE = 64 * 1024


cdef void *grow_workspace(StreamSlot *stream, size_t nbytes) except? NULL:
    cdef Block *old
    cdef Block *block
    if nbytes == 0:
        return NULL
    block = allocate_block((nbytes + GRANULE - 1) // GRANULE * GRANULE, stream)
    old = stream.workspace           # read after the allocation, which may have given it back
    stream.workspace = block
    if old != NULL:
        old.left = stream.old_workspaces
        stream.old_workspaces = old
        if stream.launches == 0:
            release_old_workspaces(stream)
    return block.address


cdef void release_old_workspaces(StreamSlot *stream) noexcept:
    cdef Block *block
    while stream.old_workspaces != NULL:
        block = stream.old_workspaces
        stream.old_workspaces = block.left
        free_block(block)
