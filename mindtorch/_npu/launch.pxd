"""Descriptors of tensors, keys of calls, the launch of an ACLNN operator, and copies from and to the NPU."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from mindtorch._core.tensor.dtype cimport (
    BOOL_KIND, COMPLEX_KIND, FLOAT_KIND, ITEMSIZE, ITEM_SHIFT, NUM_SCALAR_TYPES, Scalar, ScalarType,
)
from mindtorch._core.tensor.tensor cimport MAX_DIMS, NPU, Shape, TensorBase
from mindtorch._npu.acl cimport KeptExecutor, QueuedLaunch, TensorLocation, api
from mindtorch._npu.cann cimport (
    aclBoolArray, aclDataType, aclFormat, aclIntArray, aclOpExecutor, aclScalar, aclScalarList, aclTensor,
    aclTensorList, aclnnStatus, aclrtStream,
)
from mindtorch._npu.streams cimport TENSOR, Kind
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


# --- keys of calls, and the executors that are kept -----------------------------------------------------------------
# A key holds all that phase 1 reads but the addresses of tensors: the call, its device, the settings, and the value of
# each argument; of a tensor its dtype, geometry, bytes of storage, and the first tensor of the call with the same
# storage. An argument that may be absent or has no fixed length begins with a word that says so: different calls have
# different keys.


cdef enum:
    KEY_HEAD = 3                 # words before the arguments: the address of the call, settings, limits
    MAX_KEY_WORDS = 1024         # CANN takes keys of 8 KiB
    MAX_KEY_TENSORS = 512
    MAX_ARGUMENT_WORDS = 4 + 2 * MAX_DIMS
    SEEN_BITS = 1024

cdef struct Key:                 # on the stack of the function that makes the call
    int words
    int tensors
    uint64_t seen[SEEN_BITS / 64]           # a bit for some bits of the address of each storage
    void *storages[MAX_KEY_TENSORS]
    unsigned short offsets[MAX_KEY_TENSORS]  # of the tensors in `text`
    uint64_t text[MAX_KEY_WORDS]

cdef uint64_t phase1_settings          # a number for the values of the settings that phase 1 reads

# `call` stands for the function and its constant arguments; it must live as long as the process.
cdef inline void init_key(Key *key, void *call, int device, void *limits) noexcept nogil:
    cdef int i
    key.text[0] = <uint64_t>call
    key.text[1] = phase1_settings << 8 | <uint64_t>device
    key.text[2] = <uint64_t>limits
    key.words = KEY_HEAD
    key.tensors = 0
    for i in range(SEEN_BITS / 64):
        key.seen[i] = 0

# The functions that add an argument return False where the call cannot be kept.
cdef inline bint has_room(const Key *key) noexcept nogil:
    return key.words <= MAX_KEY_WORDS - MAX_ARGUMENT_WORDS

cdef inline bint add_word(Key *key, uint64_t word) noexcept nogil:
    key.text[key.words] = word
    key.words += 1
    return has_room(key)

cdef inline bint add_shape(Key *key, const Shape *values) noexcept nogil:
    key.text[key.words] = <uint64_t>values.ndim
    memcpy(&key.text[key.words + 1], values.sizes, values.ndim * sizeof(int64_t))
    key.words += 1 + values.ndim
    return has_room(key)

cdef inline bint add_real(Key *key, double value) noexcept nogil:
    memcpy(&key.text[key.words], &value, sizeof(double))
    key.words += 1
    return has_room(key)

cdef inline bint add_scalar(Key *key, const Scalar *scalar) noexcept nogil:
    """As `create_scalar` reads it."""
    add_word(key, 1 + <uint64_t>scalar.kind)
    if scalar.kind == FLOAT_KIND:
        return add_real(key, scalar.real)
    if scalar.kind == COMPLEX_KIND:
        add_real(key, scalar.real)
        return add_real(key, scalar.imag)
    return add_word(key, scalar.integer != 0 if scalar.kind == BOOL_KIND else <uint64_t>scalar.integer)

cdef inline int first_with_storage(Key *key, void *storage) noexcept nogil:
    """The number of the first tensor with this storage; the next tensor has it from now on."""
    cdef uint64_t bits = <uint64_t>storage // 512 % SEEN_BITS
    cdef uint64_t bit = <uint64_t>1 << bits % 64
    cdef int i = key.tensors
    if key.seen[bits // 64] & bit:
        i = 0
        while i < key.tensors and key.storages[i] != storage:
            i += 1
    key.seen[bits // 64] |= bit
    key.storages[key.tensors] = storage
    key.tensors += 1
    return i

cdef inline bint is_whole_storage(TensorBase tensor) noexcept:
    """Whether the sizes tell strides, offset and storage."""
    cdef int64_t stride = 1
    cdef int i = tensor.ndim
    if not tensor.contiguous or tensor.offset != 0:
        return False
    while i > 0:
        i -= 1
        if tensor.strides[i] != stride:
            return False
        stride *= tensor.sizes[i]
    return tensor.storage.nbytes == <size_t>(stride * ITEMSIZE[<int>tensor.dtype])

cdef inline bint add_tensor(Key *key, TensorBase tensor) noexcept:
    cdef uint64_t *text = &key.text[key.words]
    cdef size_t dims = tensor.ndim * sizeof(int64_t)
    cdef bint whole
    if tensor.device_type != NPU or key.tensors == MAX_KEY_TENSORS:
        return False
    whole = is_whole_storage(tensor)
    key.offsets[key.tensors] = key.words
    text[0] = (<uint64_t>first_with_storage(key, tensor.storage.data) << 32 | <uint64_t>tensor.dtype << 16
               | <uint64_t>tensor.ndim << 8 | <uint64_t>whole << 1 | 1)
    memcpy(text + 1, tensor.sizes, dims)
    key.words += 1 + tensor.ndim
    if not whole:
        text += 1 + tensor.ndim
        memcpy(text, tensor.strides, dims)
        text[tensor.ndim] = <uint64_t>tensor.offset
        text[tensor.ndim + 1] = tensor.storage.nbytes
        key.words += 2 + tensor.ndim
    return has_room(key)

cdef bint add_tensors(Key *key, list tensors) noexcept


# Look-ups

cdef bint cache_enabled                # whether calls look for executors
cdef bint keeps_executors              # mindtorch keeps them, as the toolkit has no hooks for CANN's cache

cdef enum LookUp:
    NOT_KEPT                     # the executor of the call is not kept
    FOUND                        # phase 2 follows
    MISSED                       # both phases follow, with `end_look_up` between them, also where phase 1 is not called


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
    bint dynamic_shapes               # the operator sets the shapes of output descriptors; `launch` keeps the handles
    void *handles[MAX_ARGUMENTS]
    unsigned char kinds[MAX_ARGUMENTS]
    Key *key                          # or NULL
    KeptExecutor *kept_executor               # in place of `executor`, where mindtorch keeps it; or NULL
    bint taken                        # no other launch can take kept_executor

# Make the device of `out` current for this thread, and set up `call` for its current stream.
cdef int init_call(Call *call, TensorBase out) except -1

# One function for each kind of argument. It adds the handle to `call`; on failure it frees all of `call` and raises.
cdef aclTensor *describe_host_scalar(Call *call, TensorBase tensor) except NULL
cdef int raise_argument_error(Call *call, void *handle, Kind kind) except -1          # always raises

cdef inline int add_handle(Call *call, void *handle, Kind kind) except -1:
    if handle == NULL or call.count == MAX_ARGUMENTS:
        raise_argument_error(call, handle, kind)
    call.handles[call.count] = handle
    call.kinds[call.count] = kind
    call.count += 1
    return 0

cdef inline aclTensor *tensor_argument(Call *call, TensorBase tensor) except NULL:
    cdef aclTensor *descriptor = NULL
    if tensor.device_type == NPU:
        descriptor = try_create_descriptor(tensor)
    if descriptor == NULL:
        descriptor = describe_host_scalar(call, tensor)
    add_handle(call, descriptor, TENSOR)
    return descriptor

cdef inline aclTensor *optional_tensor_argument(Call *call, TensorBase tensor) except? NULL:     # None: NULL
    return NULL if tensor is None else tensor_argument(call, tensor)

cdef aclTensorList *tensor_list_argument(Call *call, list tensors) except? NULL         # empty: NULL
cdef aclScalarList *scalar_list_argument(Call *call, tuple numbers, ScalarType dtype) except NULL
cdef aclScalar *scalar_argument(Call *call, const Scalar *scalar) except NULL
cdef aclIntArray *int_array_argument(Call *call, const Shape *values) except NULL
cdef aclBoolArray *bool_array_argument(Call *call, const Shape *values) except NULL
cdef inline aclDataType acl_dtype(ScalarType dtype) noexcept nogil:
    return ACL_DTYPES[<int>dtype]

# Look for the executor of a call of the function `name`, by its key.
cdef LookUp find_executor(Call *call, const char *name) noexcept
cdef inline void end_look_up() noexcept nogil:
    if not keeps_executors:
        api.UnInitPTACacheThreadLocal()

# Where mindtorch keeps executors: keep that of a call after phase 1, with the locations of its tensors.
cdef int keep_call_executor(Call *call, const TensorLocation *locations) except -1
cdef void keep_queued_executor(QueuedLaunch *launch, const TensorLocation *locations) noexcept nogil

# Check the `status` that phase 1 returned, allocate the workspace, run phase 2 without the GIL, check its status and
# free the handles. With ACL_LAUNCH_BLOCKING=1, wait for the stream. `name` ("aclnnAdd") is for errors.
cdef int launch(Call *call, aclnnStatus status, const char *name, Phase2 phase2) except -1

# With TASK_QUEUE_ENABLE=2 the queue's thread runs both phases of known calls, by their keys. `set_queue_phase1` gives
# it the function that runs phase 1. The `..._from_key` make an argument of the words at `text`, and move `text` behind
# them; they return False where CANN cannot make it.
cdef bint is_known(Call *call) noexcept         # a call with this key was made before; sets workspace_size
cdef void add_known(const Call *call) noexcept
cdef void set_queue_phase1(int (*function)(QueuedLaunch *launch) noexcept nogil) noexcept
cdef bint tensor_from_key(QueuedLaunch *launch, const uint64_t **text, int *tensors, void **made) noexcept nogil
cdef bint scalar_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil
cdef bint int_array_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil
cdef bint bool_array_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil
cdef bint tensor_list_from_key(QueuedLaunch *launch, const uint64_t **text, int *tensors, void **made) noexcept nogil
cdef bint scalar_list_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil

# After the launch of an operator with dynamic shapes: wait for the stream; give an output, which is contiguous, the
# shape of its descriptor; free the handles. On failure the first two free the handles and raise.
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


# The calls that copy or cast within a device, of aclnn_call.pyx.
ctypedef int (*CopyFunction)(TensorBase dst, TensorBase src) except -1
cdef void set_copy_calls(CopyFunction copy_function, CopyFunction cast_function) noexcept

cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1
cdef int read(TensorBase src, char *elements) except -1
