"""Pinned host memory, and releases that are deferred until a stream has done its work so far."""
from mindtorch._core.tensor.tensor cimport Storage, TensorBase
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport (
    aclBoolArray, aclIntArray, aclOpExecutor, aclScalar, aclScalarList, aclTensor, aclTensorList,
)
from mindtorch._npu.lock cimport AtomicInt
from mindtorch._npu.structs cimport StreamSlot


# --- deferred releases -----------------------------------------------------------------------------------------------
# An entry is a release that waits for a stream, or an object that CANN failed to destroy.


cdef AtomicInt pending_entries  # the number of entries: while it is 0, a caller may skip `process_deferred`

# Call release(argument), with the GIL, when `stream` has done the work that it has now.
cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1
cdef int process_deferred() except -1  # process all entries whose event is complete, or that CANN refused; never waits
cdef int synchronize_deferred(int device) except -1  # wait for the streams of `device` and process all their entries


# Kinds of handles, for `destroy`.
cdef enum Kind:
    TENSOR
    SCALAR
    INT_ARRAY
    TENSOR_LIST
    EXECUTOR
    BOOL_ARRAY
    SCALAR_LIST
    OBJECT                             # a Python object, which `destroy` ignores

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

# Never raises: if CANN fails to destroy the object, `process_deferred` tries again.
cdef inline void destroy(void *handle, int kind) noexcept nogil:
    if try_destroy(handle, kind) != 0:
        destroy_later(handle, kind)

# Rare kinds have functions of their own: with one more kind, the compiler makes a jump table of `try_destroy`.
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
# Pinned memory: the device copies from and to it without the host.


cdef struct PinnedBlock:
    void *address
    size_t size                      # a power of two, but for large blocks where the settings say so
    int bucket                       # log2 of the size, rounded up
    bint registered                  # memory of the process, pinned by aclrtHostRegisterV2
    bint reserved                    # a part of the segment of pinned_reserve_segment_size_mb, which is never freed
    int references                   # one for the storage, and one for each copy under way
    PinnedBlock *next                # in the list of idle blocks of its bucket


cdef class PinnedStorage(Storage):   # on the CPU
    cdef PinnedBlock *block

cdef Storage allocate_pinned(size_t nbytes)
cdef PinnedBlock *get_pinned_block(size_t nbytes) except NULL       # with one reference, for the caller
cdef void release_pinned(PinnedBlock *block) noexcept          # drop one reference
# Add a reference, which is dropped when `stream` has done the work that it has now.
cdef int record_pinned_use(PinnedBlock *block, StreamSlot *stream) except -1
