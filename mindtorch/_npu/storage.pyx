"""Storage on the NPU: a block of the caching allocator, given back with the last view."""
cimport cython

from mindtorch._core.device cimport NPU
from mindtorch._core.tensor cimport Storage, TensorBase
from mindtorch._npu.allocator cimport add_stream_use, allocate_block, free_block
from mindtorch._npu.handles cimport current_stream
from mindtorch._npu.stream cimport Stream


@cython.final
@cython.no_gc
cdef class NpuStorage(Storage):
    def __dealloc__(self):
        if self.block != NULL:
            free_block(self.block)


cdef Storage allocate(size_t nbytes, int index):
    cdef NpuStorage storage = NpuStorage.__new__(NpuStorage)
    storage.device_type = NPU
    storage.device_index = index
    stream = current_stream(index)
    if nbytes != 0:
        storage.block = allocate_block(nbytes, stream)
        storage.data = storage.block.address
        storage.nbytes = nbytes
    return storage


def record_stream(TensorBase tensor not None, stream):
    """Tensor.record_stream: the memory is reused only after the work that `stream` has when it is freed."""
    cdef Storage storage = tensor.storage
    if not isinstance(stream, Stream):
        raise RuntimeError("unknown parameter type")
    if isinstance(storage, NpuStorage) and (<NpuStorage>storage).block != NULL:
        add_stream_use((<NpuStorage>storage).block, (<Stream>stream).slot)
