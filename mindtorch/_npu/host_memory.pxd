"""Pinned host memory, and what is released once a stream has passed it."""
from mindtorch._core.tensor.tensor cimport Storage, TensorBase
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport (
    aclBoolArray, aclIntArray, aclOpExecutor, aclScalar, aclScalarList, aclTensor, aclTensorList,
)
from mindtorch._npu.lock cimport AtomicInt
from mindtorch._npu.structs cimport StreamSlot


# --- deferred releases -----------------------------------------------------------------------------------------------
# Things to release later: once a stream has passed a point, or where CANN refused to destroy them.


cdef AtomicInt waiting                       # entries of both sorts: a caller may skip `drain` while it is 0

# Calls release(argument), under the GIL, when `stream` has done all that has been submitted to it up to now.
cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1
cdef int drain() except -1             # releases what the streams have passed, and what was refused; never waits
cdef int drain_all(int device) except -1      # waits for every stream of `device` that has entries


# What an operator's call takes, for `destroy`.
cdef enum Kind:
    TENSOR
    SCALAR
    INT_ARRAY
    TENSOR_LIST
    EXECUTOR
    BOOL_ARRAY
    SCALAR_LIST
    OBJECT                             # a Python object, of which CANN knows nothing

cdef inline int try_destroy(void *handle, int kind) noexcept nogil:
    if kind == TENSOR:
        return api.aclDestroyTensor(<aclTensor *>handle)
    if kind == SCALAR:
        return api.aclDestroyScalar(<aclScalar *>handle)
    if kind == INT_ARRAY:
        return api.aclDestroyIntArray(<aclIntArray *>handle)
    if kind == TENSOR_LIST:
        return api.aclDestroyTensorList(<aclTensorList *>handle)
    return 0

# Never raises: what CANN refuses to destroy is tried again by `drain`.
cdef inline void destroy(void *handle, int kind) noexcept nogil:
    if try_destroy(handle, kind) != 0:
        destroy_later(handle, kind)

# Apart from the rest, since it is rare: one kind more makes a table of jumps of what every op runs through.
cdef inline void destroy_executor(aclOpExecutor *executor) noexcept nogil:
    if api.aclDestroyAclOpExecutor(executor) != 0:
        destroy_later(executor, EXECUTOR)

cdef inline void destroy_bool_array(aclBoolArray *array) noexcept nogil:
    if api.aclDestroyBoolArray(array) != 0:
        destroy_later(array, BOOL_ARRAY)

cdef inline void destroy_scalar_list(aclScalarList *numbers) noexcept nogil:
    if api.aclDestroyScalarList(numbers) != 0:
        destroy_later(numbers, SCALAR_LIST)

cdef void destroy_later(void *handle, int kind) noexcept with gil


# --- pinned memory ---------------------------------------------------------------------------------------------------
# Pinned host memory: what the device copies from and to without the host's help.


cdef struct PinnedBlock:
    void *address
    size_t size                      # a power of two, but for large blocks where the settings say so
    int bucket                       # log2 of the size, rounded up
    bint registered                  # the process's own memory, pinned by aclrtHostRegisterV2
    bint reserved                    # a part of the segment of pinned_reserve_segment_size_mb, which is not given back
    int references                   # the storage's, and one for each copy under way
    PinnedBlock *next                # among the idle ones of its bucket


cdef class PinnedStorage(Storage):   # on the CPU
    cdef PinnedBlock *block

cdef Storage allocate_pinned(size_t nbytes)
cdef PinnedBlock *take_pinned(size_t nbytes) except NULL       # with one reference, for the caller
cdef void release_pinned(PinnedBlock *block) noexcept          # takes one reference off
cdef int hold_pinned(PinnedBlock *block, StreamSlot *stream) except -1     # until `stream` has done what it has now
