"""The CPU as a backend: memory and copies. Kernels are generated from the op rows."""
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign

import numpy as np

from mindtorch._core.device cimport BACKENDS, CPU, Backend
from mindtorch._core.dtype cimport ITEMSIZE, KIND, is_float8
from mindtorch._core.scalar cimport COMPLEX_KIND, Bool
from mindtorch._core.tensor cimport Storage, TensorBase
from mindtorch._core.values cimport as_array
from mindtorch._cpu import _gen, float8, kernel

cdef enum:
    ALIGNMENT = 64
    ONE_ELEMENT = 16            # bytes at most
    LONG_COPY = 256 * 1024      # bytes from which other threads may run meanwhile


cdef class CpuStorage(Storage):
    def __dealloc__(self):
        free(self.data if self.lender == NULL else self.former)


cdef Storage allocate(size_t nbytes, int index):
    cdef CpuStorage storage = CpuStorage.__new__(CpuStorage)
    cdef void *data = NULL
    if 0 < nbytes <= ONE_ELEMENT:       # aligned for any of them; to ask for more takes longer
        data = malloc(nbytes)
    elif nbytes and posix_memalign(&data, ALIGNMENT, nbytes):
        data = NULL
    if data == NULL and nbytes:
        raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes.")
    storage.data = <char *>data
    storage.nbytes = nbytes
    storage.device_type = CPU
    return storage


cdef int current_index() except -1:
    return 0


cdef inline void copy_bytes(char *target, const char *source, size_t nbytes) noexcept:
    if nbytes < LONG_COPY:
        memcpy(target, source, nbytes)
    else:
        with nogil:
            memcpy(target, source, nbytes)


cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    if dst.numel == 0:
        return 0
    if dst.dtype == src.dtype and dst.contiguous and src.contiguous and dst.numel == src.numel:
        copy_bytes(dst.data_ptr(), src.data_ptr(), dst.numel * ITEMSIZE[<int>dst.dtype])
        return 0
    array = as_array(src)
    if KIND[<int>src.dtype] == COMPLEX_KIND and KIND[<int>dst.dtype] != COMPLEX_KIND and dst.dtype != Bool:
        array = array.real
    with np.errstate(all="ignore"):
        if src.dtype != dst.dtype and is_float8(src.dtype):
            array = array.astype(np.float32)
        if src.dtype != dst.dtype and is_float8(dst.dtype):
            array = float8.rounded(array.astype(np.float32), as_array(dst).dtype)
        as_array(dst)[...] = array
    return 0


def register():
    """Fill the CPU's slots. Called once, by mindtorch._backend."""
    cdef Backend *backend = &BACKENDS[<int>CPU]
    backend.allocate = allocate
    backend.current_index = current_index
    backend.copy = copy
    kernel.register(_gen.KERNELS)
    backend.ready = True
