"""Descriptors of tensors, the launch of an ACLNN operator, and copies from and to the NPU."""
from libc.stdint cimport int64_t, uint64_t

from mindtorch._core.tensor.dtype cimport ITEM_SHIFT, NUM_SCALAR_TYPES, Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport (
    aclBoolArray, aclDataType, aclFormat, aclIntArray, aclOpExecutor, aclScalar, aclScalarList, aclTensor,
    aclTensorList, aclnnStatus, aclrtStream,
)
from mindtorch._npu.executor_cache cimport Key
from mindtorch._npu.launch_queue cimport QueuedLaunch, QueuedPhase1
from mindtorch._npu.structs cimport StreamSlot


# --- descriptors -----------------------------------------------------------------------------------------------------
# An aclTensor describes a tensor to an operator. It has its own sizes and strides and does not own the memory.


cdef enum:
    MAX_RANK = 8                     # the largest number of dimensions in ACLNN

cdef aclDataType ACL_DTYPES[NUM_SCALAR_TYPES]
cdef aclFormat FORMATS[MAX_RANK + 1]

# NULL if there can be no descriptor; `raise_descriptor_error` raises the reason.
cdef inline aclTensor *try_create_descriptor(TensorBase tensor) noexcept:
    # The storage is described as one dimension, since a view may have any part of it in any order.
    cdef int64_t elements
    if tensor.ndim > MAX_RANK:
        return NULL
    elements = <int64_t>(tensor.storage.nbytes >> ITEM_SHIFT[<int>tensor.dtype])
    return api.aclCreateTensor(tensor.sizes, tensor.ndim, ACL_DTYPES[<int>tensor.dtype], tensor.strides,
                               tensor.offset, FORMATS[tensor.ndim], &elements, 1, tensor.storage.data)

cdef inline aclTensor *create_descriptor(TensorBase tensor) except NULL:
    cdef aclTensor *descriptor = try_create_descriptor(tensor)
    if descriptor == NULL:
        raise_descriptor_error(tensor)
    return descriptor

cdef int raise_descriptor_error(TensorBase tensor) except -1                  # always raises


# --- launches --------------------------------------------------------------------------------------------------------
# aclnn_call.pyx opens a Call, adds the arguments and runs phase 1; `launch` does the rest.


cdef enum:
    MAX_ARGUMENTS = 24
    MAX_LIST_TENSORS = 48                 # the most tensors in the lists of one call, as in torch_npu

ctypedef aclnnStatus (*Phase2)(void *, uint64_t, aclOpExecutor *, aclrtStream) noexcept nogil

cdef struct Call:                     # on the stack of the function that makes the call
    int device                        # index of the device that the operator runs on
    StreamSlot *stream                # the calling thread's current stream there
    uint64_t workspace_size
    aclOpExecutor *executor
    int count                         # number of handles; `launch` frees them, also when it raises
    int objects                       # how many of them are Python objects
    bint dynamic_shapes  # the operator sets the shapes of output descriptors; `launch` keeps the handles
    void *handles[MAX_ARGUMENTS]
    unsigned char kinds[MAX_ARGUMENTS]
    Key *key                          # of executor_cache.pyx, or NULL

# Make the device of `out` current for this thread, and set up `call` for its current stream.
cdef int init_call(Call *call, TensorBase out) except -1

# One function for each kind of argument. It adds the handle to `call`; on failure it frees all of `call` and raises.
cdef aclTensor *tensor_argument(Call *call, TensorBase tensor) except NULL
cdef aclTensor *optional_tensor_argument(Call *call, TensorBase tensor) except? NULL     # None: NULL
cdef aclTensorList *tensor_list_argument(Call *call, list tensors) except? NULL         # empty: NULL
cdef aclScalarList *scalar_list_argument(Call *call, tuple numbers, ScalarType dtype) except NULL
cdef aclScalar *scalar_argument(Call *call, const Scalar *scalar) except NULL
cdef aclIntArray *int_array_argument(Call *call, const Shape *values) except NULL
cdef aclBoolArray *bool_array_argument(Call *call, const Shape *values) except NULL
cdef inline aclDataType acl_dtype(ScalarType dtype) noexcept nogil:
    return ACL_DTYPES[<int>dtype]

# Check the `status` that phase 1 returned, allocate the workspace, run phase 2 without the GIL, check its status and
# free the handles. With ACL_LAUNCH_BLOCKING=1, wait for the stream. `name` ("aclnnAdd") is for errors.
cdef int launch(Call *call, aclnnStatus status, const char *name, Phase2 phase2) except -1

# With TASK_QUEUE_ENABLE=2 the queue's thread finds executors. `set_phase1_of_queues` gives it the function that runs
# phase 1 by a key; the others make an argument of the words at `text`, and move that behind them.
cdef bint is_known(Call *call) noexcept         # the thread can find the executor; sets workspace_size
cdef void set_phase1_of_queues(QueuedPhase1 function) noexcept
cdef aclTensor *tensor_of_key(QueuedLaunch *launch, const uint64_t **text, int *tensors) noexcept nogil
cdef aclScalar *scalar_of_key(QueuedLaunch *launch, const uint64_t **text) noexcept nogil
cdef aclIntArray *int_array_of_key(QueuedLaunch *launch, const uint64_t **text) noexcept nogil

# After the launch of a call that reports: wait for the stream; give an output, which is contiguous, the shape of its
# descriptor; free the handles. On failure the first two free the handles and raise.
cdef int wait_for_shapes(Call *call) except -1
cdef int set_output_shape(Call *call, const aclTensor *descriptor, TensorBase out) except -1
cdef void free_call(Call *call) noexcept

# Rare cases of aclnn_call.pyx.
cdef int raise_missing_symbol(const char *name, const char *since) except -1      # always raises NotImplementedError
cdef int raise_not_capturable(const char *name) except -1                         # always raises RuntimeError
# A copy of the tensor in the dtype `wanted`, or the least that is wider and a bit of `mask`; else NotImplementedError.
cdef TensorBase cast_to_supported(TensorBase tensor, ScalarType wanted, unsigned int mask, const char *name,
                                  const char *argument)
cdef int raise_not_supported(TensorBase tensor, const char *name, const char *argument) except -1   # always raises
# Views of tensors that broadcast to one shape, with as few dimensions as their memory allows.
cdef list merge_dims(list tensors)
# For operators that only copy elements: a view of the same memory in an integer dtype of the same size.
cdef TensorBase view_as_int(TensorBase tensor, unsigned int mask, const char *name, const char *argument)
cdef TensorBase make_contiguous(TensorBase tensor)


# --- copies ----------------------------------------------------------------------------------------------------------
# Backend.copy and Backend.read of the NPU; `read` copies all elements to host memory.


cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1
cdef int read(TensorBase src, char *elements) except -1
