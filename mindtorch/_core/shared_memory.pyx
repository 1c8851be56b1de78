"""Host memory that several processes see: files that live in memory and have no name.

1. The system frees such a file when the last process that maps it, or has its descriptor open or under way in a socket,
   is gone: no process has to tidy up after another that was killed.
2. New pages cost several times what filling them does. So a process keeps what it has made, and a file begins with a
   count of the storages on it, here and elsewhere: at 0 it is used again.
3. A fork doubles storages that are counted once. Those that lived through one do not count themselves out: their files
   are never used again, so nobody's memory changes below him.
"""
cimport cython
from cpython.ref cimport Py_INCREF, Py_REFCNT, PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from posix.mman cimport MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE, mmap, munmap
from posix.unistd cimport close

import os

from mindtorch._core.device cimport CPU, require_backend
from mindtorch._core.scalar cimport Byte
from mindtorch._core.tensor cimport Storage, TensorBase, make_tensor, set_storage

cdef extern from *:
    """
    #include <stdint.h>
    static inline int32_t add_user(int32_t *users, int32_t count) {
        return __atomic_add_fetch(users, count, __ATOMIC_ACQ_REL);
    }
    """
    int32_t add_user(int32_t *users, int32_t count) noexcept

cdef extern from "<sys/mman.h>" nogil:
    int MAP_POPULATE

cdef enum:
    HEADER = 64                     # bytes before the content: the count, and what keeps the content aligned
    KEPT = 64                       # files at most
    IDLE_BYTES = 64 * 1024 * 1024   # of unused files that are kept, or as many bytes as are in use

cdef list FILES = []                # the files that this process has made and may use again, oldest first
cdef int forks = 0


@cython.final
@cython.no_gc
cdef class File:
    """A file that this process has made, mapped."""
    cdef int descriptor
    cdef char *address
    cdef size_t capacity            # bytes of content

    def __cinit__(self, size_t capacity):
        self.descriptor = -1
        self.descriptor = os.memfd_create("mindtorch-shared")
        self.capacity = capacity
        os.ftruncate(self.descriptor, HEADER + capacity)
        self.address = map_shared(self.descriptor, HEADER + capacity)

    def __dealloc__(self):
        if self.address != NULL:
            munmap(self.address, HEADER + self.capacity)
        if self.descriptor >= 0:
            close(self.descriptor)

    cdef int32_t users(self) noexcept:
        return add_user(<int32_t *>self.address, 0)


@cython.final
@cython.no_gc
cdef class SharedStorage(Storage):
    cdef File file                  # None for a file that another process has made
    cdef int forks

    def __dealloc__(self):
        if self.data == NULL:           # it was never finished
            return
        if self.forks == forks:
            add_user(<int32_t *>(self.data - HEADER), -1)
        if self.file is None:
            munmap(self.data - HEADER, HEADER + self.nbytes)


cdef char *map_shared(int descriptor, size_t nbytes) except NULL:
    cdef void *address
    with nogil:
        # All pages at once: the faults that they would cost one by one take longer.
        address = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0)
    if address == MAP_FAILED:
        raise MemoryError(f"cannot map {nbytes} bytes of shared memory")
    return <char *>address


cdef TensorBase tensor_on(char *address, size_t nbytes, File file):
    """A tensor of bytes on a file that has already counted it as a user."""
    cdef SharedStorage storage = SharedStorage.__new__(SharedStorage)
    cdef int64_t count = nbytes
    require_backend(CPU)
    storage.file = file
    storage.forks = forks
    storage.data = address + HEADER
    storage.nbytes = nbytes
    storage.device_type = CPU
    return make_tensor(storage, Byte, 1, &count, NULL, 0)


cdef File unused_file(size_t capacity):
    """A file of that capacity which nobody uses, or None. What has been kept too long is let go."""
    cdef File file, found = None
    cdef size_t used = 0, idle = 0
    del FILES[:max(0, len(FILES) - KEPT)]
    for file in FILES:
        if file.users() != 0:
            used += file.capacity
        elif found is None and file.capacity == capacity:
            found = file
        else:
            idle += file.capacity
    for file in list(FILES) if idle > max(used, <size_t>IDLE_BYTES) else ():
        if file is not found and file.users() == 0:
            FILES.remove(file)
    return found


def allocate(size_t nbytes):
    """`nbytes` (not 0) of uninitialised shared memory as a tensor of bytes. OSError where the system has no more."""
    # Eight sizes between a power of two and the next: batches that differ a little find each other's files.
    cdef size_t step = max(4096, 1 << max(0, (nbytes - 1).bit_length() - 4))
    cdef size_t capacity = (nbytes + step - 1) // step * step
    cdef File file = unused_file(capacity)
    if file is None:
        file = File(capacity)
        FILES.append(file)
    add_user(<int32_t *>file.address, 1)
    return tensor_on(file.address, nbytes, file)


def attach(int descriptor, size_t nbytes):
    """The content of the file that another process has lent; the descriptor stays the caller's to close."""
    if os.fstat(descriptor).st_size < <int64_t>(HEADER + nbytes):
        raise ValueError(f"the file of descriptor {descriptor} has less than {nbytes} bytes")
    return tensor_on(map_shared(descriptor, HEADER + nbytes), nbytes, None)


def lend(storage, size_t address, size_t nbytes):
    """The descriptor of the file whose content begins with these bytes, for one `attach`; -1 for any other memory."""
    cdef SharedStorage shared = shared_of(storage)
    if shared is None or shared.file is None or <size_t>shared.data != address or shared.nbytes != nbytes:
        return -1
    add_user(<int32_t *>(shared.data - HEADER), 1)
    return shared.file.descriptor


def whole_of(storage):
    """All of `storage` as a tensor of bytes; None where it is no shared memory."""
    cdef int64_t count
    cdef SharedStorage shared = shared_of(storage)
    if shared is None:
        return None
    count = shared.nbytes
    return make_tensor(shared, Byte, 1, &count, NULL, 0)


def whole_below(TensorBase tensor not None):
    """All of the shared memory that the tensor lies in, as a tensor of bytes; None where it lies in no such memory."""
    return whole_of(tensor.storage)


cdef SharedStorage shared_of(storage):
    """The shared memory that a storage is, or has moved to; None for any other."""
    if isinstance(storage, SharedStorage):
        return storage
    if isinstance(storage, Storage) and (<Storage>storage).lender != NULL:
        return <SharedStorage>(<Storage>storage).lender
    return None


def is_shared(TensorBase self):
    """Whether other processes can see the tensor's memory: after share_memory_, in batches from workers, on an NPU."""
    return self.device_type != CPU or shared_of(self.storage) is not None


def share_memory_(TensorBase self not None):
    """Move the tensor's memory, and with it that of all views, to where processes that are given it see it too.

    What is written is seen by all of them. Nothing happens to shared memory and to tensors on an NPU.
    """
    cdef Storage storage = self.storage
    cdef Storage shared
    if self.device_type != CPU or shared_of(storage) is not None:
        return self
    shared = (<TensorBase>allocate(max(storage.nbytes, 1))).storage
    if storage.nbytes:
        memcpy(shared.data, storage.data, storage.nbytes)
    shared.version = storage.version
    if Py_REFCNT(storage) == 2:         # the tensor's reference, and that of this function
        shared.nbytes = storage.nbytes
        set_storage(self, shared, self.dtype)
        return self
    storage.former, storage.data = storage.data, shared.data
    storage.lender = <PyObject *>shared
    Py_INCREF(shared)
    return self


def _before_fork():
    global forks
    forks += 1


os.register_at_fork(before=_before_fork, after_in_child=FILES.clear)
