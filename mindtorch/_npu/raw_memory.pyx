"""Device memory by address, for torch.npu.caching_allocator_alloc: blocks that belong to no tensor."""
from libc.stdint cimport intptr_t

from mindtorch._npu.allocator cimport allocate_block, drop_stream_use, free_block
from mindtorch._npu.handles cimport STREAMS, current_stream
from mindtorch._npu.records cimport Block, StreamSlot
from mindtorch._core.tensor cimport TensorBase
from mindtorch._npu.storage cimport NpuStorage
from mindtorch._npu.stream cimport Stream

cdef dict BLOCKS = {}                # address -> Block *


cdef StreamSlot *find_stream(int device, intptr_t handle) except NULL:
    cdef StreamSlot *slot = STREAMS
    while slot != NULL and (slot.device != device or <intptr_t>slot.handle != handle):
        slot = slot.next
    if slot == NULL:
        raise ValueError(f"{handle:#x} is no stream of npu:{device}")
    return slot


def allocate(size_t nbytes, int device, intptr_t stream):
    """The address of `nbytes` of memory that belongs to a stream, given by its handle; 0 for no bytes."""
    cdef Block *block
    if nbytes == 0:
        return 0
    block = allocate_block(nbytes, find_stream(device, stream))
    BLOCKS[<intptr_t>block.address] = <intptr_t>block
    return <intptr_t>block.address


def release(intptr_t address):
    """Gives back what `allocate` gave. RuntimeError for any other address."""
    if address == 0:
        return
    if address not in BLOCKS:
        raise RuntimeError(f"invalid device pointer: {address:#x}")
    free_block(<Block *><intptr_t>BLOCKS.pop(address))


def erase_stream(TensorBase tensor not None, Stream stream not None):
    """Takes back Tensor.record_stream, once the owner of the memory has waited for the other stream itself.

    Nothing happens unless the current stream is the one that owns the memory.
    """
    cdef Block *block
    if isinstance(tensor.storage, NpuStorage):
        block = (<NpuStorage>tensor.storage).block
        if block != NULL and current_stream(tensor.device_index) == block.pool.stream:
            drop_stream_use(block, stream.slot)
