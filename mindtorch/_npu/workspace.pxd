"""Scratch memory of operators: one growing block a stream."""
from mindtorch._npu.records cimport StreamSlot

# At least `nbytes` of device memory for the next op of `stream`; NULL when nbytes is 0.
cdef inline void *workspace(StreamSlot *stream, size_t nbytes) except? NULL:
    if stream.workspace != NULL and nbytes <= stream.workspace.requested:
        return stream.workspace.address
    return grow_workspace(stream, nbytes)

cdef void *grow_workspace(StreamSlot *stream, size_t nbytes) except? NULL
cdef void release_old_workspaces(StreamSlot *stream) noexcept
