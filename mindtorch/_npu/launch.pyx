"""Descriptors of tensors, keys of calls, the launch of an ACLNN operator, and copies from and to the NPU."""
import os
import sys
from collections import deque

from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
cimport cython
from libc.stdint cimport int64_t, intptr_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libcpp cimport bool as cbool

from mindtorch._npu import peers, runtime
from mindtorch._npu.acl import LAUNCH_BLOCKING, check_status, driver_message

from mindtorch._core.python.profiling cimport add_finished_range, clock, is_thread_profiled
from mindtorch._core.rules.infer cimport same_shape
from mindtorch._core.tensor.dtype cimport (
    BOOL_KIND, COMPLEX_KIND, DTYPES, FLOAT_KIND, ITEMSIZE, BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat,
    Double, Float, Float8_e4m3fn, Float8_e5m2, Float8_e8m0fnu, Half, Int, Long, Scalar, ScalarKind, ScalarType, Short,
    UInt16, UInt32, UInt64, Undefined, cast_scalar, is_float8, scalar_from_python,
)
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CPU, MAX_DIMS, NPU, Shape, TensorBase, contiguous_strides, empty_tensor, has_same_shape, make_view,
    require_backend, set_geometry,
)
from mindtorch._core.tensor.views cimport expand_to
from mindtorch._npu.acl cimport (
    MAX_QUEUED_TENSORS, MAX_QUEUED_WORDS, NO_QUEUE, LaunchQueue, QueuedFunctions, QueuedLaunch, TensorLocation,
    add_known_call, add_launch, api, check, copy_long_key, count_kept, drain_queue, find_known_call, find_kept,
    find_queue, has_launches, keep_executor, keep_executors, launch_kept, make_repeatable, missed_look_ups,
    next_launch, queue_mode, queues_in_use, refuse, release_kept, set_key, start_queue,
)
from mindtorch._npu.allocator cimport NpuAllocator, allocate_block, free_block
from mindtorch._npu.cann cimport (
    ACL_BF16, ACL_BOOL, ACL_COMPLEX128, ACL_COMPLEX64, ACL_DOUBLE, ACL_DT_UNDEFINED, ACL_FLOAT, ACL_FLOAT16,
    ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2, ACL_FLOAT8_E8M0, ACL_FORMAT_NCDHW, ACL_FORMAT_NCHW, ACL_FORMAT_NCL,
    ACL_FORMAT_ND, ACL_INT16, ACL_INT32, ACL_INT64, ACL_INT8, ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE, ACL_UINT16, ACL_UINT32, ACL_UINT64, ACL_UINT8, aclBoolArray, aclDataType, aclIntArray,
    aclOpExecutor, aclScalar, aclScalarList, aclTensor, aclTensorList, aclnnStatus, aclrtMemcpyKind,
)
from mindtorch._npu.host_memory cimport PinnedBlock, PinnedStorage, get_pinned_block, record_pinned_use, release_pinned
from mindtorch._npu.streams cimport (
    BOOL_ARRAY, EXECUTOR, INT_ARRAY, OBJECT, POOL_BITS, SCALAR, SCALAR_LIST, SYNC_LAUNCH_STREAM, TENSOR, TENSOR_LIST,
    TIMING_EVENT, Kind, bind_device, check_sync_debug_mode, current_stream, defer, destroy, destroy_bool_array,
    destroy_executor, destroy_scalar_list, device_context, get_event, init_current_stream, record, return_event,
    synchronize_stream, thread_state, try_destroy, use_device, wait_stream,
)
from mindtorch._npu.structs cimport Block, EventSlot, StreamSlot


# --- descriptors -----------------------------------------------------------------------------------------------------
# The tables of data types and formats.


cdef int number
for number in range(NUM_SCALAR_TYPES):
    ACL_DTYPES[number] = ACL_DT_UNDEFINED
for dtype, acl_type in (
        (Byte, ACL_UINT8), (Char, ACL_INT8), (Short, ACL_INT16), (Int, ACL_INT32), (Long, ACL_INT64),
        (Half, ACL_FLOAT16), (Float, ACL_FLOAT), (Double, ACL_DOUBLE), (ComplexFloat, ACL_COMPLEX64),
        (ComplexDouble, ACL_COMPLEX128), (Bool, ACL_BOOL), (BFloat16, ACL_BF16), (UInt16, ACL_UINT16),
        (UInt32, ACL_UINT32), (UInt64, ACL_UINT64), (Float8_e5m2, ACL_FLOAT8_E5M2),
        (Float8_e4m3fn, ACL_FLOAT8_E4M3FN), (Float8_e8m0fnu, ACL_FLOAT8_E8M0)):
    ACL_DTYPES[<int>dtype] = <aclDataType><int>acl_type

# The format follows from the rank, as in torch_npu. Operators with a channel dimension depend on it.
for number in range(MAX_RANK + 1):
    FORMATS[number] = ACL_FORMAT_ND
FORMATS[3] = ACL_FORMAT_NCL
FORMATS[4] = ACL_FORMAT_NCHW
FORMATS[5] = ACL_FORMAT_NCDHW


cdef int raise_descriptor_error(TensorBase tensor) except -1:
    if tensor.ndim > MAX_RANK:
        raise RuntimeError(f"NPU operators take tensors of at most {MAX_RANK} dimensions, got {tensor.ndim}")
    if ACL_DTYPES[<int>tensor.dtype] == ACL_DT_UNDEFINED:
        raise NotImplementedError(f"CANN has no data type for {DTYPES[<int>tensor.dtype]}")
    raise RuntimeError(f"NPU error: aclCreateTensor failed. {driver_message()}")


# --- keys of calls, and the executors that are kept -----------------------------------------------------------------


cdef bint add_tensors(Key *key, list tensors) noexcept:
    if not add_word(key, <uint64_t>len(tensors)):
        return False
    for tensor in tensors:
        if not isinstance(tensor, TensorBase) or not add_tensor(key, <TensorBase>tensor):
            return False
    return True


cdef dict SETTINGS = {}         # name -> value, of the settings that do not have their defaults
cdef dict SETTING_NUMBERS = {}  # set of settings -> its number in keys


def note_thread_limits(intptr_t stream):
    """Call this when the calling thread takes the core limits of a driver's stream; with 0 when it drops them."""
    thread_state().limits = <void *>stream


def note_setting(tuple name, value):
    """Call this when a setting that phase 1 reads has changed. None: it has its default again."""
    global phase1_settings
    if value is None:
        SETTINGS.pop(name, None)
    else:
        SETTINGS[name] = value
    phase1_settings = SETTING_NUMBERS.setdefault(frozenset(SETTINGS.items()), len(SETTING_NUMBERS) + 1)


# Look-ups
# CANN's hooks (include/aclnn/op_cache.h) keep the state of a look-up in the calling thread: no Python code runs between
# `find_executor` and `end_look_up`. For toolkits without hooks, mindtorch has a table (kept_executors.h).

cdef dict SWITCH = {"0": False, "1": True}
cdef uint64_t cache_hits
cdef uint64_t cache_misses


def enable_executor_cache():
    """Called when CANN has been loaded."""
    global cache_enabled, keeps_executors
    chosen = os.environ.get("MINDTORCH_EXECUTOR_CACHE") or "1"
    if chosen not in SWITCH:
        raise ValueError(f"MINDTORCH_EXECUTOR_CACHE is {chosen!r}, expected 0 or 1")
    hooks = api.CanUsePTACache != NULL and api.InitPTACacheThreadLocal != NULL and (
        api.UnInitPTACacheThreadLocal != NULL) and api.AddTensorAddrToCachedList != NULL and (
        api.SetPTACacheHashKey != NULL) and api.PTAFindExecCache != NULL
    keeps_executors = SWITCH[chosen] and not hooks and cache_limit() != 0 and (
        api.aclSetAclOpExecutorRepeatable != NULL and api.aclSetTensorAddr != NULL
        and api.aclSetDynamicTensorAddr != NULL)
    if keeps_executors:
        keep_executors(cache_limit(), destroy_on_queue)
    cache_enabled = SWITCH[chosen] and hooks or keeps_executors


DEFAULT_LIMIT = 10_000          # of CANN


def cache_limit():
    limit = os.environ.get("ACLNN_CACHE_LIMIT", "")
    return int(limit) if limit.isdecimal() else DEFAULT_LIMIT


def executor_cache_stats():
    """{"hits": launches of kept executors, "misses": other launches that look for one, "limit": the most executors that
    are kept, "size": how many are; of CANN's cache, which does not tell the number, how many may be}"""
    missed = missed_look_ups()                 # by threads of queues, for calls that were found before
    misses = cache_misses + missed
    size = count_kept() if keeps_executors else min(misses, cache_limit())
    return {"hits": cache_hits - missed, "misses": misses, "size": size, "limit": cache_limit()}


cdef LookUp find_executor(Call *call, const char *name) noexcept:
    global cache_enabled, cache_hits, cache_misses
    cdef Key *key = call.key
    cdef size_t length = key.words * sizeof(uint64_t)
    cdef int i
    if keeps_executors:
        # A launch never waits for another one that has the executor: this may wait for a stream that the launch wakes.
        # On a queue launches follow each other.
        call.taken = queue_mode == NO_QUEUE
        call.kept_executor = find_kept(key.text, key.words, call.taken, &call.workspace_size)
        if call.kept_executor == NULL:
            cache_misses += 1
            return MISSED
        cache_hits += 1
        return FOUND
    if not api.CanUsePTACache(name):
        cache_enabled = cache_hits + cache_misses != 0            # at the first call: CANN's cache is switched off
        return NOT_KEPT
    api.InitPTACacheThreadLocal()
    for i in range(key.tensors):
        api.AddTensorAddrToCachedList(key.storages[i])
    api.SetPTACacheHashKey(<uint8_t *>key.text, length)
    call.executor = api.PTAFindExecCache(<uint8_t *>key.text, length, &call.workspace_size)
    if call.executor == NULL:
        cache_misses += 1
        return MISSED
    end_look_up()
    cache_hits += 1
    return FOUND


cdef int keep_call_executor(Call *call, const TensorLocation *locations) except -1:
    call.kept_executor = make_repeatable(call.executor, call.key.words, call.key.tensors, call.count)
    if call.kept_executor == NULL:
        return 0
    call.executor = NULL
    _objects = take_objects(call) if call.objects != 0 else None
    keep_executor(call.kept_executor, call.key.text, call.workspace_size, call.handles, call.kinds, locations,
                  call.taken)
    call.count = 0
    return 0


cdef void keep_queued_executor(QueuedLaunch *launch, const TensorLocation *locations) noexcept nogil:
    launch.kept_executor = make_repeatable(launch.executor, launch.words, launch.tensors, launch.count)
    if launch.kept_executor == NULL:
        return
    launch.executor = NULL
    keep_executor(launch.kept_executor, launch.text, launch.workspace_size, launch.handles, launch.kinds, locations,
                  False)
    launch.count = 0


# --- launches --------------------------------------------------------------------------------------------------------
# 1. `init_call`, the functions that add arguments, and phase 1 hold the GIL: they use host memory only and never wait.
# 2. Phase 2 runs without the GIL, because it waits while the stream's queue is full.
# 3. Descriptors are destroyed when phase 2 has returned. The workspace is freed then, too: only later work of the same
#    stream can reuse it.


# The functions that create arguments, for error messages.
cdef dict CREATE_FUNCTIONS = {TENSOR: "aclCreateTensor", SCALAR: "aclCreateScalar", INT_ARRAY: "aclCreateIntArray",
                              TENSOR_LIST: "aclCreateTensorList"}

cdef bint BLOCKING = LAUNCH_BLOCKING
cdef bint PROFILING = False              # a profile records launches
cdef bint AFTER_LAUNCH = BLOCKING            # BLOCKING or PROFILING: `after_launch` is to be called


def profile_launches(bint on):
    """Switch the recording of launches by profiles on or off."""
    global PROFILING, AFTER_LAUNCH
    PROFILING = on
    AFTER_LAUNCH = on or BLOCKING
    UNREAD_TIMES.clear()


cdef int init_call(Call *call, TensorBase out) except -1:
    cdef int device = out.device_index
    state = thread_state()
    call.count = 0
    call.objects = 0
    call.dynamic_shapes = False
    call.device = device
    call.workspace_size = 0
    call.executor = NULL
    call.key = NULL
    call.kept_executor = NULL
    call.taken = False
    if state.bound != device:
        bind_device(device)
    call.stream = <StreamSlot *>state.streams[device]
    if call.stream == NULL:
        call.stream = init_current_stream(device)
    return 0


# Arguments

cdef int raise_argument_error(Call *call, void *handle, Kind kind) except -1:
    message = driver_message()
    if handle != NULL:
        destroy(handle, kind)
    free_call(call)
    if handle != NULL:
        raise RuntimeError(f"an NPU operator takes at most {MAX_ARGUMENTS} tensors, scalars and arrays")
    raise RuntimeError(f"NPU error: {CREATE_FUNCTIONS[kind]} failed. {message}")


cdef aclTensor *describe_host_scalar(Call *call, TensorBase tensor) except NULL:
    """The descriptor of a CPU scalar that is copied to the device. Raises if a tensor cannot be described."""
    try:
        if tensor.device_type == NPU:
            raise_descriptor_error(tensor)
        return create_descriptor(copy_to_device(call, tensor))
    except BaseException:
        free_call(call)
        raise


cdef TensorBase copy_to_device(Call *call, TensorBase tensor):
    """A copy of a 0-d CPU tensor on the device of the call, which keeps it until phase 2 has returned."""
    cdef Shape shape
    cdef TensorBase result
    cdef int i
    shape.ndim = tensor.ndim
    for i in range(tensor.ndim):
        shape.sizes[i] = tensor.sizes[i]
    result = empty_tensor(&shape, tensor.dtype, NPU, call.device)
    BACKENDS[<int>NPU].copy(result, tensor, False)
    use_device(call.device)                      # the copy may have switched the device
    add_object(call, result)
    return result


cdef int add_object(Call *call, object value) except -1:
    add_handle(call, <PyObject *>value, OBJECT)
    Py_INCREF(value)
    call.objects += 1
    return 0


cdef aclTensorList *tensor_list_argument(Call *call, list tensors) except? NULL:
    cdef Py_ssize_t count = len(tensors)
    cdef Py_ssize_t made = 0
    cdef const aclTensor **elements
    cdef aclTensorList *result = NULL
    if count == 0:
        return NULL
    elements = <const aclTensor **>malloc(count * sizeof(void *))
    try:
        if elements == NULL:
            raise MemoryError()
        while made < count:
            tensor = <TensorBase?>tensors[made]
            if (<TensorBase>tensor).device_type != NPU:
                tensor = copy_to_device(call, tensor)
            elements[made] = create_descriptor(tensor)
            made += 1
        result = api.aclCreateTensorList(elements, count)
        add_handle(call, result, TENSOR_LIST)          # which destroys the elements too
    except BaseException:
        while result == NULL and made > 0:
            made -= 1
            destroy(<void *>elements[made], TENSOR)
        free_call(call)
        raise
    finally:
        free(elements)
    return result


cdef aclScalar *scalar_argument(Call *call, const Scalar *scalar) except NULL:
    cdef aclScalar *result = create_scalar(scalar)
    add_handle(call, result, SCALAR)
    return result


cdef inline aclScalar *create_scalar(const Scalar *scalar) noexcept nogil:
    cdef aclScalar *result
    cdef double parts[2]
    cdef bint truth
    cdef unsigned char boolean
    if scalar.kind == FLOAT_KIND:
        result = api.aclCreateScalar(<void *>&scalar.real, ACL_DOUBLE)
    elif scalar.kind == COMPLEX_KIND:
        parts[0] = scalar.real
        parts[1] = scalar.imag
        result = api.aclCreateScalar(parts, ACL_COMPLEX128)
    elif scalar.kind == BOOL_KIND:
        truth = scalar.integer != 0
        boolean = truth
        result = api.aclCreateScalar(&boolean, ACL_BOOL)
    else:
        result = api.aclCreateScalar(<void *>&scalar.integer, ACL_INT64)
    return result


@cython.final
cdef class ScalarList:
    """An aclScalarList as a Python object, see BoolArray."""
    cdef aclScalarList *handle

    def __dealloc__(self):
        if self.handle != NULL:
            destroy_scalar_list(self.handle)


cdef aclScalarList *scalar_list_argument(Call *call, tuple numbers, ScalarType dtype) except NULL:
    cdef ScalarList result = ScalarList.__new__(ScalarList)
    cdef Py_ssize_t count = len(numbers)
    cdef Py_ssize_t made = 0
    cdef const aclScalar **elements = <const aclScalar **>malloc(count * sizeof(void *))
    cdef Scalar number
    try:
        if elements == NULL:
            raise MemoryError()
        while made < count:
            scalar_from_python(numbers[made], &number)
            number = cast_scalar(&number, dtype)
            elements[made] = create_scalar(&number)
            if elements[made] == NULL:
                raise RuntimeError(f"NPU error: aclCreateScalar failed. {driver_message()}")
            made += 1
        result.handle = api.aclCreateScalarList(elements, count)     # which destroys the elements too
        if result.handle == NULL:
            raise RuntimeError(f"NPU error: aclCreateScalarList failed. {driver_message()}")
        add_object(call, result)
    except BaseException:
        while result.handle == NULL and made > 0:
            made -= 1
            destroy(<void *>elements[made], SCALAR)
        free_call(call)
        raise
    finally:
        free(elements)
    return result.handle


cdef aclIntArray *int_array_argument(Call *call, const Shape *values) except NULL:
    cdef aclIntArray *result = api.aclCreateIntArray(values.sizes, values.ndim)
    add_handle(call, result, INT_ARRAY)
    return result


@cython.final
cdef class BoolArray:
    """An aclBoolArray as a Python object: so `destroy`, which runs for every operator, has one kind less to test."""
    cdef aclBoolArray *handle

    def __dealloc__(self):
        if self.handle != NULL:
            destroy_bool_array(self.handle)


cdef aclBoolArray *bool_array_argument(Call *call, const Shape *values) except NULL:
    cdef BoolArray result = BoolArray.__new__(BoolArray)
    cdef cbool truths[MAX_DIMS]
    cdef int i
    for i in range(values.ndim):
        truths[i] = values.sizes[i] != 0
    result.handle = api.aclCreateBoolArray(truths, values.ndim)
    if result.handle == NULL:
        message = driver_message()
        free_call(call)
        raise RuntimeError(f"NPU error: aclCreateBoolArray failed. {message}")
    add_object(call, result)
    return result.handle


# The end of a call

cdef inline void destroy_all(Call *call) noexcept nogil:
    cdef int i
    for i in range(call.count):
        destroy(call.handles[i], call.kinds[i])


cdef void release_objects(Call *call) noexcept:
    cdef int i
    for i in range(call.count):
        if call.kinds[i] == OBJECT:
            Py_XDECREF(<PyObject *>call.handles[i])
    call.objects = 0


cdef void free_call(Call *call) noexcept:
    """Free the executor and the handles of a call."""
    if call.kept_executor != NULL:
        release_kept(call.kept_executor, call.taken)
        call.kept_executor = NULL
    if call.executor != NULL:
        destroy_executor(call.executor)
        call.executor = NULL
    destroy_all(call)
    if call.objects != 0:
        release_objects(call)
    call.count = 0


cdef int free_workspace(Block *block, StreamSlot *stream) except -1:
    """Free the workspace of a launch. Later work of the stream may reuse it, because that runs after the operator."""
    if stream.updates:                           # an updated task of a graph: each replay uses the workspace
        block.left = stream.capture.workspaces
        stream.capture.workspaces = block
    elif (<NpuAllocator>stream.allocator).source is None:
        free_block(block)
    else:                                        # a pluggable allocator may give the memory to another stream at once
        try:
            defer(stream, release_workspace, block)
        except BaseException:
            synchronize_stream(stream)
            free_block(block)
            raise
    return 0


cdef void release_workspace(void *block) noexcept:
    free_block(<Block *>block)


cdef int launch(Call *call, aclnnStatus status, const char *name, Phase2 phase2) except -1:
    cdef Block *workspace_block = NULL
    cdef void *workspace = NULL
    cdef StreamSlot *stream = call.stream
    cdef EventSlot *start_event = NULL
    cdef int64_t start_time = 0
    if status != 0:
        raise_launch_error(call, status, name, True)
    if call.workspace_size != 0:
        try:
            workspace_block = allocate_block(call.workspace_size, stream)
            workspace = workspace_block.address
            use_device(call.device)              # the allocator may have switched the device
        except BaseException:
            if workspace_block != NULL:
                free_block(workspace_block)
            free_call(call)
            raise
    if queues_in_use:
        # Without an executor: it is left to the queue's thread, see is_known.
        if call.executor == NULL and call.kept_executor == NULL or not call.taken and can_be_queued(call):
            return queue_launch(call, name, phase2, workspace, workspace_block)
        if has_launches(call.device):
            with nogil:
                drain_queue(call.device)
    if AFTER_LAUNCH:
        try:
            start_event = record_timing_event(stream)
        except BaseException:
            if workspace_block != NULL:
                free_block(workspace_block)
            free_call(call)
            raise
        start_time = clock()
    stream.launches += 1
    with nogil:
        if call.kept_executor == NULL:
            status = phase2(workspace, call.workspace_size, call.executor, stream.handle)
        else:
            status = launch_kept(call.kept_executor, call.taken, call.key.storages, phase2, workspace,
                                 call.workspace_size, stream.handle)
            call.taken = False
            if status == 0:
                release_kept(call.kept_executor, False)
                call.kept_executor = NULL
        if status == 0 and not call.dynamic_shapes:
            destroy_all(call)
    stream.launches -= 1
    call.executor = NULL                         # phase 2 frees it, even if it fails
    if workspace_block != NULL:
        free_workspace(workspace_block, stream)
    if status != 0:
        if start_event != NULL:
            return_event(start_event)
        raise_launch_error(call, status, name, False)
    if call.objects != 0 and not call.dynamic_shapes:
        release_objects(call)
    if AFTER_LAUNCH:
        after_launch(stream, name, start_time, start_event)
    return 0


# Launches on the thread of a queue (acl.pxd). In a capture, under a profile or limits of its cores, for operators with
# dynamic shapes, and on a SyncLaunchStream, the calling thread waits until the queue is empty, and launches itself.

cdef bint can_be_queued(const Call *call) noexcept:
    return (queue_mode != NO_QUEUE and call.stream.capture == NULL and not call.stream.updates
            and not AFTER_LAUNCH and not call.dynamic_shapes and thread_state().limits == NULL
            and call.stream.number >> POOL_BITS != SYNC_LAUNCH_STREAM)


cdef QueuedFunctions QUEUE_FUNCTIONS


cdef void set_queue_phase1(int (*function)(QueuedLaunch *launch) noexcept nogil) noexcept:
    QUEUE_FUNCTIONS.phase1 = function


cdef bint may_launch(int device) noexcept nogil:
    """Whether the calling thread may make launches of a queue."""
    return thread_state().bound == device and thread_state().limits == NULL


cdef list take_objects(Call *call):
    """Take the Python objects from the call, which keeps CANN's objects in them. They may die once the launch is in the
    queue: only later work of the stream reuses the memory of a tensor."""
    cdef list objects = []
    cdef int i
    for i in range(call.count):
        if call.kinds[i] != OBJECT:
            continue
        value = <object>call.handles[i]
        objects.append(value)
        Py_XDECREF(<PyObject *>value)
        call.handles[i] = NULL
        if isinstance(value, ScalarList):
            call.handles[i], call.kinds[i] = (<ScalarList>value).handle, <unsigned char>SCALAR_LIST
            (<ScalarList>value).handle = NULL
        elif isinstance(value, BoolArray):
            call.handles[i], call.kinds[i] = (<BoolArray>value).handle, <unsigned char>BOOL_ARRAY
            (<BoolArray>value).handle = NULL
    call.objects = 0
    return objects


cdef int destroy_on_queue(void *handle, int kind) noexcept nogil:
    if kind == SCALAR_LIST:
        return api.aclDestroyScalarList(<aclScalarList *>handle)
    if kind == BOOL_ARRAY:
        return api.aclDestroyBoolArray(<aclBoolArray *>handle)
    if kind == EXECUTOR:
        return api.aclDestroyAclOpExecutor(<aclOpExecutor *>handle)
    return try_destroy(handle, kind)


QUEUE_FUNCTIONS.destroy = destroy_on_queue
QUEUE_FUNCTIONS.may_launch = may_launch


cdef bint is_known(Call *call) noexcept:
    return can_be_queued(call) and find_known_call(call.key.text, call.key.words, &call.workspace_size)


cdef void add_known(const Call *call) noexcept:
    add_known_call(call.key.text, call.key.words, call.workspace_size)


# MINDTORCH_LAUNCH_LINES=1: each launch in a queue keeps the line of the program that called the operator.
cdef bint RECORDS_LINES = os.environ.get("MINDTORCH_LAUNCH_LINES") == "1"
cdef dict LINES = {}            # the text for each (code, line); it is never freed
cdef str PACKAGE = os.path.dirname(os.path.dirname(runtime.__file__)) + os.sep


cdef const char *calling_line() except NULL:
    """The innermost line of the program outside of mindtorch."""
    cdef bytes text
    frame = sys._getframe()                      # a Python function's: Cython functions have no frames
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    key = (frame.f_code, frame.f_lineno)
    text = LINES.get(key)
    if text is None:
        text = LINES[key] = f"{frame.f_code.co_filename}, line {frame.f_lineno}, in {frame.f_code.co_name}".encode()
    return text


cdef int queue_launch(Call *call, const char *name, Phase2 phase2, void *workspace, Block *workspace_block) except -1:
    global cache_hits
    cdef LaunchQueue *queue
    cdef QueuedLaunch *queued
    cdef StreamSlot *stream = call.stream
    cdef list _objects = None                        # until the launch is in the queue
    cdef Key *key = call.key
    cdef const char *line = NULL
    cdef void *long_key = NULL
    try:
        if call.executor == NULL and (key.words > MAX_QUEUED_WORDS or key.tensors > MAX_QUEUED_TENSORS):
            long_key = copy_long_key(key.text, key.words, key.storages, key.offsets, key.tensors)
        if RECORDS_LINES:
            line = calling_line()
        queue = find_queue(call.device)
        if queue == NULL:
            queue = start_queue(call.device, device_context(call.device), &QUEUE_FUNCTIONS)
    except BaseException:
        free(long_key)
        free_call(call)
        if workspace_block != NULL:
            free_block(workspace_block)
        raise
    if call.executor == NULL and call.kept_executor == NULL and cache_enabled:
        cache_hits += 1
    if call.objects != 0:
        _objects = take_objects(call)
    stream.launches += 1
    queued = next_launch(queue)                      # no Python code runs from here to `add_launch`
    queued.phase2 = phase2
    queued.name = name
    queued.line = line
    queued.workspace = workspace
    queued.workspace_size = call.workspace_size
    queued.executor = call.executor
    queued.kept_executor = call.kept_executor
    queued.stream = stream.handle
    queued.count = call.count
    memcpy(queued.handles, call.handles, call.count * sizeof(void *))
    memcpy(queued.kinds, call.kinds, call.count)
    queued.may_be_kept = cache_enabled
    queued.words = queued.tensors = 0
    queued.long_key = NULL
    if key != NULL:
        set_key(queued, long_key, key.text, key.words, key.storages, key.offsets, key.tensors)
    add_launch(queue)
    stream.launches -= 1
    if workspace_block != NULL:
        free_workspace(workspace_block, stream)
    return 0


cdef bint tensor_from_key(QueuedLaunch *launch, const uint64_t **text, int *tensors, void **made) noexcept nogil:
    if text[0][0] != 0:
        return keep_handle(launch, read_tensor(launch, text, tensors), made, TENSOR)
    text[0] += 1                                 # None
    made[0] = NULL
    return True


cdef aclTensor *read_tensor(QueuedLaunch *launch, const uint64_t **text, int *tensors) noexcept nogil:
    cdef const uint64_t *word = text[0]
    cdef const int64_t *sizes = <const int64_t *>(word + 1)
    cdef const int64_t *strides = sizes
    cdef int64_t dense[MAX_RANK]
    cdef int64_t offset = 0
    cdef int64_t elements = 1
    cdef int ndim = (word[0] >> 8) & 255
    cdef int dtype = (word[0] >> 16) & 65535
    cdef int i
    text[0] += 1 + ndim
    if word[0] & 2:
        for i in range(ndim - 1, -1, -1):
            dense[i] = elements
            elements *= sizes[i]
        strides = dense
    else:
        strides = sizes + ndim
        offset = strides[ndim]
        elements = strides[ndim + 1] // ITEMSIZE[dtype]
        text[0] += ndim + 2
    tensors[0] += 1
    return api.aclCreateTensor(sizes, ndim, ACL_DTYPES[dtype], strides, offset, FORMATS[ndim], &elements, 1,
                               launch.storages[tensors[0] - 1])


cdef inline bint keep_handle(QueuedLaunch *launch, void *handle, void **made, Kind kind) noexcept nogil:
    made[0] = handle
    if handle == NULL:
        return False
    launch.handles[launch.count] = handle
    launch.kinds[launch.count] = kind
    launch.count += 1
    return True


cdef bint scalar_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil:
    if text[0][0] != 0:
        return keep_handle(launch, read_scalar(text), made, SCALAR)
    text[0] += 1                                 # None
    made[0] = NULL
    return True


cdef aclScalar *read_scalar(const uint64_t **text) noexcept nogil:
    cdef Scalar scalar
    scalar.kind = <ScalarKind>(text[0][0] - 1)
    scalar.integer = <int64_t>text[0][1]
    memcpy(&scalar.real, text[0] + 1, sizeof(double))
    if scalar.kind == COMPLEX_KIND:
        memcpy(&scalar.imag, text[0] + 2, sizeof(double))
        text[0] += 1
    text[0] += 2
    return create_scalar(&scalar)


cdef bint int_array_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil:
    cdef uint64_t count = text[0][0]
    cdef const int64_t *values = <const int64_t *>(text[0] + 1)
    text[0] += 1 + count
    return keep_handle(launch, api.aclCreateIntArray(values, count), made, INT_ARRAY)


cdef bint bool_array_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil:
    cdef cbool truths[MAX_DIMS]
    cdef uint64_t count = text[0][0]
    cdef uint64_t i
    for i in range(count):
        truths[i] = text[0][1 + i] != 0
    text[0] += 1 + count
    return keep_handle(launch, api.aclCreateBoolArray(truths, count), made, BOOL_ARRAY)


cdef bint tensor_list_from_key(QueuedLaunch *launch, const uint64_t **text, int *tensors, void **made) noexcept nogil:
    cdef const aclTensor *elements[MAX_KEY_TENSORS]
    cdef aclTensorList *result = NULL
    cdef uint64_t count = text[0][0]
    cdef uint64_t i = 0
    text[0] += 1
    made[0] = NULL
    if count == 0:
        return True
    while i < count:
        elements[i] = read_tensor(launch, text, tensors)
        if elements[i] == NULL:
            break
        i += 1
    if i == count:
        result = api.aclCreateTensorList(elements, count)
    while result == NULL and i > 0:
        i -= 1
        if try_destroy(<void *>elements[i], TENSOR) != 0:
            refuse(<void *>elements[i], TENSOR)
    return keep_handle(launch, result, made, TENSOR_LIST)


cdef bint scalar_list_from_key(QueuedLaunch *launch, const uint64_t **text, void **made) noexcept nogil:
    cdef const aclScalar *elements[MAX_KEY_TENSORS]
    cdef aclScalarList *result = NULL
    cdef uint64_t count = text[0][0]
    cdef uint64_t i = 0
    text[0] += 1
    elements[0] = NULL          # an empty list has none
    while i < count:
        elements[i] = read_scalar(text)
        if elements[i] == NULL:
            break
        i += 1
    if i == count:
        result = api.aclCreateScalarList(elements, count)
    while result == NULL and i > 0:
        i -= 1
        if try_destroy(<void *>elements[i], SCALAR) != 0:
            refuse(<void *>elements[i], SCALAR)
    return keep_handle(launch, result, made, SCALAR_LIST)


# After a launch: profiles, and ACL_LAUNCH_BLOCKING

@cython.final
cdef class DeviceTime:
    """The time from an event before a launch to one behind it, on the stream."""
    cdef EventSlot *start_event
    cdef EventSlot *end_event
    cdef double elapsed

    def __dealloc__(self):
        self.return_events()

    cdef void return_events(self) noexcept:
        if self.start_event != NULL:
            return_event(self.start_event)
        if self.end_event != NULL:
            return_event(self.end_event)
        self.start_event = self.end_event = NULL

    def microseconds(self):
        """Waits for the launch, the first time."""
        cdef float milliseconds = 0
        if self.end_event != NULL:
            use_device(self.end_event.device)
            with nogil:
                check(api.aclrtSynchronizeEvent(self.end_event.handle), b"aclrtSynchronizeEvent")
            check(api.aclrtEventElapsedTime(&milliseconds, self.start_event.handle, self.end_event.handle),
                  b"aclrtEventElapsedTime")
            self.elapsed = milliseconds * 1000
            self.return_events()
        return self.elapsed


cdef enum:
    MAX_UNREAD_TIMES = 1000          # a driver has a limited number of timing events
cdef object UNREAD_TIMES = deque()   # of the running profile


cdef EventSlot *record_timing_event(StreamSlot *stream) except? NULL:
    """An event behind what has been launched; NULL without a profile of the thread, or while a graph is captured."""
    cdef EventSlot *event
    if not PROFILING or stream.capture != NULL or not is_thread_profiled():
        return NULL
    event = get_event(stream.device, TIMING_EVENT)
    try:
        record(event, stream)
    except BaseException:
        return_event(event)
        raise
    return event


cdef int after_launch(StreamSlot *stream, const char *name, int64_t start_time, EventSlot *start_event) except -1:
    cdef DeviceTime taken = None
    if start_event != NULL:
        taken = DeviceTime.__new__(DeviceTime)
        taken.start_event = start_event
        taken.end_event = record_timing_event(stream)
        UNREAD_TIMES.append(taken)
        if len(UNREAD_TIMES) > MAX_UNREAD_TIMES:
            UNREAD_TIMES.popleft().microseconds()
    if PROFILING:
        add_finished_range(name.decode(), "privateuse1_runtime", start_time, taken)
    if BLOCKING and stream.capture == NULL:
        synchronize_stream(stream)
    return 0


# Operators that determine the shapes of their outputs

cdef int wait_for_shapes(Call *call) except -1:
    try:
        check_sync_debug_mode()
        synchronize_stream(call.stream)
    except BaseException:
        free_call(call)
        raise
    return 0


cdef int set_output_shape(Call *call, const aclTensor *descriptor, TensorBase out) except -1:
    cdef int64_t *sizes = NULL
    cdef uint64_t ndim = 0
    cdef int64_t strides[MAX_DIMS]
    cdef int status = api.aclGetViewShape(descriptor, &sizes, &ndim)
    try:
        check_status(status, "aclGetViewShape")
        contiguous_strides(<int>ndim, sizes, strides)
        set_geometry(out, <int>ndim, sizes, strides, out.offset)
    except BaseException:
        free_call(call)
        raise
    finally:
        api.delete_array(sizes)
    return 0


cdef int raise_launch_error(Call *call, int status, const char *name, bint in_phase_1) except -1:
    if in_phase_1:
        call.executor = NULL                     # phase 1 has created none
    try:
        check_status(status, name.decode() + ("GetWorkspaceSize" if in_phase_1 else ""))
    finally:
        free_call(call)
    return -1


# Rare cases of aclnn_call.pyx

cdef int raise_missing_symbol(const char *name, const char *since) except -1:
    from mindtorch._npu.acl_loader import describe_missing
    raise NotImplementedError(describe_missing(name.decode(), since.decode()))


cdef int raise_not_capturable(const char *name) except -1:
    raise RuntimeError(f"{name.decode()} cannot be captured in a graph: it is handed its seed as a number, so that "
                       "every replay would draw the same numbers")


cdef TensorBase contiguous_copy(TensorBase tensor, ScalarType dtype):
    """A contiguous copy of `dtype` on the same device."""
    cdef Shape shape
    cdef TensorBase copy
    cdef int i
    shape.ndim = tensor.ndim
    for i in range(tensor.ndim):
        shape.sizes[i] = tensor.sizes[i]
    copy = empty_tensor(&shape, dtype, tensor.device_type, tensor.device_index)
    BACKENDS[tensor.device_type].copy(copy, tensor, False)
    return copy


# The next wider dtype that holds all values of a dtype.
cdef int WIDER[NUM_SCALAR_TYPES]
for number in range(NUM_SCALAR_TYPES):
    WIDER[<int>number] = <int>Undefined
WIDER[<int>Byte] = WIDER[<int>Char] = <int>Short
WIDER[<int>Short], WIDER[<int>Int] = <int>Int, <int>Long
WIDER[<int>Half] = WIDER[<int>BFloat16] = <int>Float
WIDER[<int>ComplexFloat] = <int>ComplexDouble


cdef TensorBase cast_to_supported(TensorBase tensor, ScalarType wanted, unsigned int mask, const char *name,
                                  const char *argument):
    """A contiguous copy in the dtype, or in the next wider one that is in the mask."""
    cdef int dtype = <int>wanted
    while dtype != <int>Undefined:
        if (mask >> dtype) & 1:
            return contiguous_copy(tensor, <ScalarType>dtype)
        dtype = WIDER[dtype]
    raise_not_supported(tensor, name, argument)


cdef int raise_not_supported(TensorBase tensor, const char *name, const char *argument) except -1:
    from mindtorch._npu.acl_loader import toolkit
    raise NotImplementedError(f"{name.decode()}: argument {argument.decode()} of dtype "
                              f"{DTYPES[<int>tensor.dtype]} is not supported on npu by {toolkit()}")


# Integer dtypes by the size of an element.
cdef int INT_BY_SIZE[17]
INT_BY_SIZE[:] = [<int>Undefined] * 17
INT_BY_SIZE[1], INT_BY_SIZE[2], INT_BY_SIZE[4], INT_BY_SIZE[8] = <int>Byte, <int>Short, <int>Int, <int>Long


cdef TensorBase view_as_int(TensorBase tensor, unsigned int mask, const char *name, const char *argument):
    cdef TensorBase view
    cdef int dtype = INT_BY_SIZE[ITEMSIZE[<int>tensor.dtype]]
    if dtype == Undefined or not (mask >> dtype) & 1:
        return cast_to_supported(tensor, tensor.dtype, mask, name, argument)
    view = make_view(tensor, tensor.ndim, tensor.sizes, tensor.strides, tensor.offset)
    view.dtype = <ScalarType>dtype
    return view


cdef TensorBase make_contiguous(TensorBase tensor):
    return tensor if tensor.contiguous else contiguous_copy(tensor, tensor.dtype)


# --- copies ----------------------------------------------------------------------------------------------------------
# Copies from and to the NPU.
#
# 1. Only bytes are transferred, between contiguous memory of one dtype. aclnnInplaceCopy does casts, broadcasts and
#    strides on the device (aclnnCast does casts of 8-bit floats). If a side does not fit, a temporary tensor does.
# 2. With pinned memory and `non_blocking`, the copy is a task of the stream.
# 3. From pageable memory to the device, small copies go through a pinned buffer and do not wait for the device. Larger
#    ones wait for the stream first, since a synchronous copy is not ordered with its work.
# 4. A copy to the host waits for the stream, unless 2 applies.
# 5. A copy between devices is a task of the source's stream. It waits for the target's stream, and later work of the
#    target's stream waits for it.


cdef enum:
    STAGING_LIMIT = 1024 * 1024       # copies of up to so many bytes go through a pinned buffer
    FLOAT8_COPIED_AS = 1 << Byte               # the dtype as which aclnnInplaceCopy copies 8-bit floats
    COMMON_DTYPES = (1 << Undefined) - 1
    # The dtypes that aclnnCast documents.
    CAST_DTYPES = COMMON_DTYPES | 1 << Float8_e5m2 | 1 << Float8_e4m3fn | 1 << UInt16 | 1 << UInt32 | 1 << UInt64

cdef CopyFunction call_copy, call_cast


cdef void set_copy_calls(CopyFunction copy_function, CopyFunction cast_function) noexcept:
    global call_copy, call_cast
    call_copy, call_cast = copy_function, cast_function


cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    if dst.numel == 0:
        return 0
    if src.device_type != NPU:
        return copy_from_host(dst, src, non_blocking)
    if dst.device_type != NPU:
        return copy_to_host(dst, src, non_blocking)
    if dst.device_index != src.device_index:
        return copy_between_devices(dst, src)
    return copy_on_device(dst, src)


# Within one device

cdef int copy_on_device(TensorBase dst, TensorBase src) except -1:
    if is_float8(dst.dtype) or is_float8(src.dtype):
        if dst.dtype != src.dtype:
            return cast_on_device(dst, src)
        dst = view_as_int(dst, FLOAT8_COPIED_AS, b"aclnnInplaceCopy", b"selfRef")
        src = view_as_int(src, FLOAT8_COPIED_AS, b"aclnnInplaceCopy", b"src")
    if dst.ndim > MAX_RANK:
        dst, src = merge_dims([dst, src])
        if dst.ndim > MAX_RANK:
            return copy_slices(dst, src)
    return call_copy(dst, src)


cdef int cast_on_device(TensorBase dst, TensorBase src) except -1:
    cdef Shape shape
    same_shape(&shape, dst)
    src = cast_to_supported(expand_to(src, &shape), src.dtype, CAST_DTYPES, b"aclnnCast", b"self")
    cast_to_supported(dst, dst.dtype, CAST_DTYPES, b"aclnnCast", b"out")
    return call_cast(dst, src)


cdef enum:
    MAX_MERGED_TENSORS = 24         # as many as an operator has arguments


cdef int64_t size_from(TensorBase tensor, int dim, int rank, int64_t *stride) noexcept:
    """The size and stride in a dimension of `rank` dimensions, to which the tensor broadcasts."""
    dim -= rank - tensor.ndim
    stride[0] = tensor.strides[dim] if dim >= 0 else 0
    return tensor.sizes[dim] if dim >= 0 else 1


cdef list merge_dims(list tensors):
    """Views of tensors that broadcast to one shape, with fewer dimensions, which broadcast as well.

    Dimensions are merged that are adjacent in the memory of all tensors. 0-d tensors stay.
    """
    cdef Shape sizes[MAX_MERGED_TENSORS]
    cdef Shape strides[MAX_MERGED_TENSORS]
    cdef TensorBase tensor
    cdef int i, dim, rank = 0, count = len(tensors), merged = 0
    cdef int64_t size, stride, outer
    cdef bint single, joined
    cdef list views = []
    if count > MAX_MERGED_TENSORS:
        raise ValueError(f"{count} tensors, {MAX_MERGED_TENSORS} at most")
    for i in range(count):
        rank = max(rank, (<TensorBase>tensors[i]).ndim)
    for dim in range(rank):
        single, joined = True, merged > 0
        for i in range(count):
            size = size_from(<TensorBase>tensors[i], dim, rank, &stride)
            single = single and size == 1
            if joined:
                outer = sizes[i].sizes[merged - 1]
                joined = outer == 1 if size == 1 else outer != 1 and strides[i].sizes[merged - 1] == stride * size
        if single:
            continue
        for i in range(count):
            size = size_from(<TensorBase>tensors[i], dim, rank, &stride)
            if joined:
                sizes[i].sizes[merged - 1] *= size
                strides[i].sizes[merged - 1] = stride
            else:
                sizes[i].sizes[merged], strides[i].sizes[merged] = size, stride
        merged += not joined
    for i in range(count):
        tensor = <TensorBase>tensors[i]
        views.append(tensor if tensor.ndim == 0 else
                     make_view(tensor, merged, sizes[i].sizes, strides[i].sizes, tensor.offset))
    return views


cdef int copy_slices(TensorBase dst, TensorBase src) except -1:
    """Copy slice by slice of the first dimension, since there are too many dimensions."""
    cdef int64_t i, step = 0
    cdef bint whole = src.ndim < dst.ndim
    if not whole and src.sizes[0] != 1:
        step = src.strides[0]
    for i in range(dst.sizes[0]):
        copy_on_device(make_view(dst, dst.ndim - 1, dst.sizes + 1, dst.strides + 1, dst.offset + i * dst.strides[0]),
                       src if whole else
                       make_view(src, src.ndim - 1, src.sizes + 1, src.strides + 1, src.offset + i * step))
    return 0


cdef bint same_layout(TensorBase dst, TensorBase src) noexcept:
    """Whether the elements of `src`, in order, are the memory of `dst`."""
    return dst.contiguous and dst.dtype == src.dtype and has_same_shape(dst, src)


cdef TensorBase empty_like_sizes(TensorBase like, ScalarType dtype, int device_type, int device_index):
    cdef Shape shape
    shape.ndim = like.ndim
    memcpy(shape.sizes, like.sizes, like.ndim * sizeof(int64_t))
    return empty_tensor(&shape, dtype, device_type, device_index)


cdef TensorBase contiguous_on_device(TensorBase src, ScalarType dtype):
    """`src` as a contiguous tensor of `dtype` on its device; `src` itself if it is that."""
    if src.contiguous and src.dtype == dtype:
        return src
    cdef TensorBase dense = empty_like_sizes(src, dtype, NPU, src.device_index)
    copy_on_device(dense, src)
    return dense


# Host to device

cdef int copy_from_host(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef TensorBase target = dst
    cdef TensorBase dense = src
    if not src.contiguous:
        dense = empty_like_sizes(src, src.dtype, CPU, 0)
        require_backend(CPU)
        BACKENDS[<int>CPU].copy(dense, src, False)
    if not same_layout(dst, src):
        target = empty_like_sizes(src, src.dtype, NPU, dst.device_index)
    copy_bytes_from_host(target, dense, non_blocking)
    return 0 if target is dst else copy_on_device(dst, target)


cdef int copy_bytes_from_host(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef size_t nbytes = src.numel * ITEMSIZE[<int>src.dtype]
    cdef StreamSlot *stream = current_stream(dst.device_index)
    cdef char *target = dst.data_ptr()
    cdef char *source = src.data_ptr()
    cdef PinnedBlock *block
    if isinstance(src.storage, PinnedStorage):
        if not non_blocking:
            check_sync_debug_mode()
        memcpy_async(target, source, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
        if non_blocking:
            return record_pinned_use(<PinnedBlock *>src.storage.block, stream)
        return synchronize_stream(stream)
    if nbytes <= STAGING_LIMIT:
        block = get_pinned_block(nbytes)
        try:
            memcpy(block.address, source, nbytes)
            memcpy_async(target, <char *>block.address, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
            return record_pinned_use(block, stream)
        finally:
            release_pinned(block)
    check_sync_debug_mode()
    synchronize_stream(stream)
    return memcpy_sync(target, source, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)


cdef int memcpy_async(char *dst, char *src, size_t nbytes, aclrtMemcpyKind kind, StreamSlot *stream) except -1:
    cdef int status
    use_device(stream.device)
    stream.launches += 1
    with nogil:
        status = api.aclrtMemcpyAsync(dst, nbytes, src, nbytes, kind, stream.handle)
    stream.launches -= 1
    check(status, b"aclrtMemcpyAsync")
    return 0


cdef int memcpy_sync(char *dst, char *src, size_t nbytes, aclrtMemcpyKind kind, StreamSlot *stream) except -1:
    use_device(stream.device)
    with nogil:
        check(api.aclrtMemcpy(dst, nbytes, src, nbytes, kind), b"aclrtMemcpy")
    return 0


# Device to host

cdef int copy_to_host(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef TensorBase dense = contiguous_on_device(src, dst.dtype)
    cdef TensorBase target = dst if same_layout(dst, dense) else empty_like_sizes(src, dst.dtype, CPU, 0)
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *stream = current_stream(src.device_index)
    if non_blocking and target is dst and isinstance(dst.storage, PinnedStorage):
        memcpy_async(dst.data_ptr(), dense.data_ptr(), nbytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
        return record_pinned_use(<PinnedBlock *>dst.storage.block, stream)
    check_sync_debug_mode()
    use_device(src.device_index)
    runtime.get_runtime(src.device_index).synchronize(<intptr_t>stream.handle)
    memcpy_sync(target.data_ptr(), dense.data_ptr(), nbytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
    if target is not dst:
        require_backend(CPU)
        return BACKENDS[<int>CPU].copy(dst, target, False)
    return 0


cdef int read(TensorBase src, char *elements) except -1:
    cdef TensorBase dense = contiguous_on_device(src, src.dtype)
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *stream = current_stream(src.device_index)
    cdef char *source = dense.data_ptr()
    check_sync_debug_mode()
    use_device(stream.device)
    with nogil:
        check(api.aclrtSynchronizeStream(stream.handle), b"aclrtSynchronizeStream")
        check(api.aclrtMemcpy(elements, nbytes, source, nbytes, ACL_MEMCPY_DEVICE_TO_HOST), b"aclrtMemcpy")
    return 0


# Device to device

cdef int copy_between_devices(TensorBase dst, TensorBase src) except -1:
    """Copy between two devices: over their link if there is one, else through pinned host memory."""
    cdef TensorBase dense = contiguous_on_device(src, dst.dtype)
    cdef TensorBase target = dst
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *source_stream = current_stream(src.device_index)
    cdef StreamSlot *stream = current_stream(dst.device_index)
    if not same_layout(dst, dense):
        target = empty_like_sizes(src, dst.dtype, NPU, dst.device_index)
    if peers.connect(dst.device_index, src.device_index):
        wait_stream(source_stream, stream)          # earlier work may read or write the target
        memcpy_async(target.data_ptr(), dense.data_ptr(), nbytes, ACL_MEMCPY_DEVICE_TO_DEVICE, source_stream)
        try:
            wait_stream(stream, source_stream)
        except BaseException:
            synchronize_stream(source_stream)       # the copy is under way already
            raise
    else:
        copy_through_host(target.data_ptr(), dense.data_ptr(), nbytes, source_stream, stream)
    return 0 if target is dst else copy_on_device(dst, target)


cdef int copy_through_host(char *dst, char *src, size_t nbytes, StreamSlot *source_stream,
                           StreamSlot *stream) except -1:
    cdef PinnedBlock *block
    check_sync_debug_mode()
    block = get_pinned_block(nbytes)
    try:
        memcpy_async(<char *>block.address, src, nbytes, ACL_MEMCPY_DEVICE_TO_HOST, source_stream)
        synchronize_stream(source_stream)
        memcpy_async(dst, <char *>block.address, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
        return record_pinned_use(block, stream)
    finally:
        release_pinned(block)
