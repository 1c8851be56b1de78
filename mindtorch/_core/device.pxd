"""torch.device, and the slots that a backend fills for what is no op: memory and copies."""
from libc.stdint cimport intptr_t

from mindtorch._core.tensor cimport Storage, TensorBase


cdef enum DeviceType:
    CPU = 0
    NPU = 1
    DEVICE_TYPES = 2


cdef class device:
    cdef readonly int type_code               # DeviceType
    cdef readonly int raw_index               # -1: none given ("npu"); then the current device is meant
    cdef int set_from(self, object value) except -1
    cdef int set_pair(self, object name, object index) except -1

ctypedef struct Backend:
    bint ready                                               # False until the backend has registered itself
    Storage (*allocate)(size_t nbytes, int index)            # uninitialised bytes on device `index`
    Storage (*allocate_pinned)(size_t nbytes)                # on the host, for copies that nobody waits for; CPU: NULL
    int (*current_index)() except -1                         # the calling thread's current device
    # dst[...] = src, with broadcasting, casts and any strides; one side at least lives on this backend's device.
    # The CPU backend serves CPU to CPU only. Asynchronous only where `non_blocking` and the host side is pinned.
    int (*copy)(TensorBase dst, TensorBase src, bint non_blocking) except -1
    # The elements of `src`, in order, into memory of the host, once they are there. CPU: NULL.
    int (*read)(TensorBase src, char *elements) except -1
    bint streams                                             # some thread has left a device's default stream
    intptr_t (*capturing)(int index) noexcept                # which capture stores its stream's work there; CPU: NULL

cdef Backend BACKENDS[DEVICE_TYPES]

# None: the default device. Loads the backend.
cdef int resolve(object device_or_none, int *type_code, int *index) except -1
cdef int require_backend(int type_code) except -1                               # imports it through mindtorch._backend
cdef device device_of(TensorBase tensor)
cdef int require_host(int type_code) except -1              # the device of what is to be pinned
cdef TensorBase pinned_like(TensorBase made)               # in pinned memory; `made` is on the CPU and is not read
cdef device make_device(int type_code, int index)          # index -1: none
# dst[...] = src through the backend that serves the pair. Broadcasts and casts; does not count a new version.
cdef int copy_data(TensorBase dst, TensorBase src, bint non_blocking) except -1
