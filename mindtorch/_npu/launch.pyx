"""Descriptors of tensors, the launch of an ACLNN operator, and copies from and to the NPU."""
import os

from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
cimport cython
from libc.stdint cimport int64_t, intptr_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy
from libcpp cimport bool as cbool

from mindtorch._npu import peers, runtime
from mindtorch._npu.acl import check_status, driver_message

from mindtorch._core.python.profiling cimport clock, note_call
from mindtorch._core.rules.infer cimport same
from mindtorch._core.tensor.dtype cimport (
    BOOL_KIND, COMPLEX_KIND, DTYPES, FLOAT_KIND, ITEMSIZE, BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat,
    Double, Float, Float8_e4m3fn, Float8_e5m2, Float8_e8m0fnu, Half, Int, Long, Scalar, ScalarType, Short, UInt16,
    UInt32, UInt64, Undefined, as_element, is_float8, scalar_from,
)
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CPU, MAX_DIMS, NPU, Shape, TensorBase, contiguous_strides, empty_tensor, make_view, require_backend,
    set_geometry,
)
from mindtorch._core.tensor.views cimport expand_to
from mindtorch._npu.acl cimport AclnnFunction, api, check, find_function
from mindtorch._npu.allocator cimport NpuAllocator, allocate_block, free_block
from mindtorch._npu.cann cimport (
    ACL_BF16, ACL_BOOL, ACL_COMPLEX128, ACL_COMPLEX64, ACL_DOUBLE, ACL_DT_UNDEFINED, ACL_FLOAT, ACL_FLOAT16,
    ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2, ACL_FLOAT8_E8M0, ACL_FORMAT_NCDHW, ACL_FORMAT_NCHW, ACL_FORMAT_NCL,
    ACL_FORMAT_ND, ACL_INT16, ACL_INT32, ACL_INT64, ACL_INT8, ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE, ACL_UINT16, ACL_UINT32, ACL_UINT64, ACL_UINT8, aclBoolArray, aclDataType, aclIntArray,
    aclOpExecutor, aclScalar, aclScalarList, aclTensor, aclTensorList, aclnnStatus, aclrtMemcpyKind,
)
from mindtorch._npu.host_memory cimport (
    INT_ARRAY, OBJECT, SCALAR, TENSOR, TENSOR_LIST, Kind, PinnedBlock, PinnedStorage, defer, destroy,
    destroy_bool_array, destroy_executor, destroy_scalar_list, hold_pinned, release_pinned, take_pinned,
)
from mindtorch._npu.streams cimport (
    about_to_wait, bind_device, current_stream, first_stream, let_wait, thread_state, use_device, wait_for_stream,
)
from mindtorch._npu.structs cimport Block, StreamSlot


# --- descriptors -----------------------------------------------------------------------------------------------------
# The tables of data types and formats.


cdef int number
for number in range(SCALAR_TYPES):
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


cdef int no_descriptor(TensorBase tensor) except -1:
    if tensor.ndim > MAX_RANK:
        raise RuntimeError(f"NPU operators take tensors of at most {MAX_RANK} dimensions, got {tensor.ndim}")
    if ACL_DTYPES[<int>tensor.dtype] == ACL_DT_UNDEFINED:
        raise NotImplementedError(f"CANN has no data type for {DTYPES[<int>tensor.dtype]}")
    raise RuntimeError(f"NPU error: aclCreateTensor failed. {driver_message()}")


# --- launches --------------------------------------------------------------------------------------------------------
# 1. `open_call`, the functions that add arguments, and phase 1 hold the GIL: they use host memory only and never wait.
# 2. Phase 2 runs without the GIL, because it waits while the stream's queue is full.
# 3. Descriptors are destroyed when phase 2 has returned. The workspace is freed then, too: only later work of the same
#    stream can reuse it.


# The functions that create arguments, for error messages.
cdef dict MAKERS = {TENSOR: "aclCreateTensor", SCALAR: "aclCreateScalar", INT_ARRAY: "aclCreateIntArray",
                    TENSOR_LIST: "aclCreateTensorList"}

# Wait for the stream after each launch. ACL and torch_npu have a variable each.
cdef bint BLOCKING = "1" in (os.environ.get("ACL_LAUNCH_BLOCKING"), os.environ.get("ASCEND_LAUNCH_BLOCKING"))
cdef bint PROFILED = False              # a profile records launches
cdef bint WATCHED = BLOCKING            # BLOCKING or PROFILED: `after_launch` is to be called


def profile_launches(bint on):
    """Switch the recording of launches by profiles on or off."""
    global PROFILED, WATCHED
    PROFILED = on
    WATCHED = on or BLOCKING


cdef int open_call(Call *call, TensorBase out) except -1:
    cdef int device = out.device_index
    state = thread_state()
    call.count = 0
    call.objects = 0
    call.reports = False
    call.device = device
    call.workspace_size = 0
    call.executor = NULL
    if state.bound != device:
        bind_device(device)
    call.stream = <StreamSlot *>state.streams[device]
    if call.stream == NULL:
        call.stream = first_stream(device)
    return 0


# Arguments

cdef inline int keep(Call *call, void *handle, Kind kind) except -1:
    if handle == NULL or call.count == MAX_ARGUMENTS:
        refuse(call, handle, kind)
    call.handles[call.count] = handle
    call.kinds[call.count] = kind
    call.count += 1
    return 0


cdef int refuse(Call *call, void *handle, Kind kind) except -1:
    message = driver_message()
    if handle != NULL:
        destroy(handle, kind)
    close_call(call)
    if handle != NULL:
        raise RuntimeError(f"an NPU operator takes at most {MAX_ARGUMENTS} tensors, scalars and arrays")
    raise RuntimeError(f"NPU error: {MAKERS[kind]} failed. {message}")


cdef aclTensor *tensor_argument(Call *call, TensorBase tensor) except NULL:
    cdef aclTensor *descriptor = NULL
    if tensor.device_type == NPU:
        descriptor = try_describe(tensor)
    if descriptor == NULL:
        descriptor = other_tensor(call, tensor)
    keep(call, descriptor, TENSOR)
    return descriptor


cdef aclTensor *other_tensor(Call *call, TensorBase tensor) except NULL:
    """The descriptor of a CPU scalar that is copied to the device. Raises if a tensor cannot be described."""
    try:
        if tensor.device_type == NPU:
            no_descriptor(tensor)
        return describe(bring(call, tensor))
    except BaseException:
        close_call(call)
        raise


cdef TensorBase bring(Call *call, TensorBase tensor):
    """A copy of a 0-d CPU tensor on the device of the call, which keeps it until phase 2 has returned."""
    cdef Shape shape
    cdef TensorBase brought
    cdef int i
    shape.ndim = tensor.ndim
    for i in range(tensor.ndim):
        shape.sizes[i] = tensor.sizes[i]
    brought = empty_tensor(&shape, tensor.dtype, NPU, call.device)
    BACKENDS[<int>NPU].copy(brought, tensor, False)
    use_device(call.device)                      # the copy may have switched the device
    keep_object(call, brought)
    return brought


cdef int keep_object(Call *call, object kept) except -1:
    keep(call, <PyObject *>kept, OBJECT)
    Py_INCREF(kept)
    call.objects += 1
    return 0


cdef aclTensor *optional_tensor_argument(Call *call, TensorBase tensor) except? NULL:
    return NULL if tensor is None else tensor_argument(call, tensor)


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
                tensor = bring(call, tensor)
            elements[made] = describe(tensor)
            made += 1
        result = api.aclCreateTensorList(elements, count)
        keep(call, result, TENSOR_LIST)          # which destroys the elements too
    except BaseException:
        while result == NULL and made > 0:
            made -= 1
            destroy(<void *>elements[made], TENSOR)
        close_call(call)
        raise
    finally:
        free(elements)
    return result


cdef aclScalar *scalar_argument(Call *call, const Scalar *scalar) except NULL:
    cdef aclScalar *result = describe_scalar(scalar)
    keep(call, result, SCALAR)
    return result


cdef inline aclScalar *describe_scalar(const Scalar *scalar) noexcept:
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
    cdef ScalarList kept = ScalarList.__new__(ScalarList)
    cdef Py_ssize_t count = len(numbers)
    cdef Py_ssize_t made = 0
    cdef const aclScalar **elements = <const aclScalar **>malloc(count * sizeof(void *))
    cdef Scalar number
    try:
        if elements == NULL:
            raise MemoryError()
        while made < count:
            scalar_from(numbers[made], &number)
            number = as_element(&number, dtype)
            elements[made] = describe_scalar(&number)
            if elements[made] == NULL:
                raise RuntimeError(f"NPU error: aclCreateScalar failed. {driver_message()}")
            made += 1
        kept.handle = api.aclCreateScalarList(elements, count)     # which destroys the elements too
        if kept.handle == NULL:
            raise RuntimeError(f"NPU error: aclCreateScalarList failed. {driver_message()}")
        keep_object(call, kept)
    except BaseException:
        while kept.handle == NULL and made > 0:
            made -= 1
            destroy(<void *>elements[made], SCALAR)
        close_call(call)
        raise
    finally:
        free(elements)
    return kept.handle


cdef aclIntArray *int_array_argument(Call *call, const Shape *values) except NULL:
    cdef aclIntArray *result = api.aclCreateIntArray(values.sizes, values.ndim)
    keep(call, result, INT_ARRAY)
    return result


@cython.final
cdef class BoolArray:
    """An aclBoolArray as a Python object: so `destroy`, which runs for every operator, has one kind less to test."""
    cdef aclBoolArray *handle

    def __dealloc__(self):
        if self.handle != NULL:
            destroy_bool_array(self.handle)


cdef aclBoolArray *bool_array_argument(Call *call, const Shape *values) except NULL:
    cdef BoolArray kept = BoolArray.__new__(BoolArray)
    cdef cbool truths[MAX_DIMS]
    cdef int i
    for i in range(values.ndim):
        truths[i] = values.sizes[i] != 0
    kept.handle = api.aclCreateBoolArray(truths, values.ndim)
    if kept.handle == NULL:
        message = driver_message()
        close_call(call)
        raise RuntimeError(f"NPU error: aclCreateBoolArray failed. {message}")
    keep_object(call, kept)
    return kept.handle


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


cdef void close_call(Call *call) noexcept:
    """Free the executor and the handles of a call."""
    if call.executor != NULL:
        destroy_executor(call.executor)
        call.executor = NULL
    destroy_all(call)
    if call.objects != 0:
        release_objects(call)
    call.count = 0


cdef int free_workspace(Block *scratch, StreamSlot *stream) except -1:
    """Free the workspace of a launch. Later work of the stream may reuse it, because that runs after the operator."""
    if stream.updates:                           # an updated task of a graph: each replay uses the workspace
        scratch.left = stream.capture.workspaces
        stream.capture.workspaces = scratch
    elif (<NpuAllocator>stream.allocator).source is None:
        free_block(scratch)
    else:                                        # a pluggable allocator may give the memory to another stream at once
        try:
            defer(stream, give, scratch)
        except BaseException:
            wait_for_stream(stream)
            free_block(scratch)
            raise
    return 0


cdef void give(void *block) noexcept:
    free_block(<Block *>block)


cdef int launch(Call *call, aclnnStatus status, const char *name, Phase2 phase2) except -1:
    cdef Block *scratch = NULL
    cdef void *workspace = NULL
    cdef StreamSlot *stream = call.stream
    cdef int64_t began = 0
    if status != 0:
        fail(call, status, name, True)
    if call.workspace_size != 0:
        try:
            scratch = allocate_block(call.workspace_size, stream)
            workspace = scratch.address
            use_device(call.device)              # the allocator may have switched the device
        except BaseException:
            if scratch != NULL:
                free_block(scratch)
            close_call(call)
            raise
    if WATCHED:
        began = clock()
    stream.launches += 1
    with nogil:
        status = phase2(workspace, call.workspace_size, call.executor, stream.handle)
        if status == 0 and not call.reports:
            destroy_all(call)
    stream.launches -= 1
    call.executor = NULL                         # phase 2 frees it, even if it fails
    if scratch != NULL:
        free_workspace(scratch, stream)
    if status != 0:
        fail(call, status, name, False)
    if call.objects != 0 and not call.reports:
        release_objects(call)
    if WATCHED:
        after_launch(stream, name, began)
    return 0


cdef int after_launch(StreamSlot *stream, const char *name, int64_t began) except -1:
    if PROFILED:
        note_call(name.decode(), "privateuse1_runtime", began)
    if BLOCKING and stream.capture == NULL:
        wait_for_stream(stream)
    return 0


# Operators that determine the shapes of their outputs

cdef int await_reports(Call *call) except -1:
    try:
        about_to_wait()
        wait_for_stream(call.stream)
    except BaseException:
        close_call(call)
        raise
    return 0


cdef int take_report(Call *call, const aclTensor *descriptor, TensorBase out) except -1:
    cdef int64_t *sizes = NULL
    cdef uint64_t ndim = 0
    cdef int64_t strides[MAX_DIMS]
    cdef int status = api.aclGetViewShape(descriptor, &sizes, &ndim)
    try:
        check_status(status, "aclGetViewShape")
        contiguous_strides(<int>ndim, sizes, strides)
        set_geometry(out, <int>ndim, sizes, strides, out.offset)
    except BaseException:
        close_call(call)
        raise
    finally:
        api.delete_array(sizes)
    return 0


cdef int fail(Call *call, int status, const char *name, bint in_phase_1) except -1:
    if in_phase_1:
        call.executor = NULL                     # phase 1 has created none
    try:
        check_status(status, name.decode() + ("GetWorkspaceSize" if in_phase_1 else ""))
    finally:
        close_call(call)
    return -1


# Rare cases of aclnn_call.pyx

cdef int missing_symbol(const char *name, const char *since) except -1:
    from mindtorch._npu.acl_loader import toolkit
    raise NotImplementedError(f"{name.decode()} is not in {toolkit()}; it came with CANN {since.decode()}")


cdef int refuse_capture(const char *name) except -1:
    raise RuntimeError(f"{name.decode()} cannot be captured in a graph: it is handed its seed as a number, so that "
                       "every replay would draw the same numbers")


cdef TensorBase copied(TensorBase tensor, ScalarType dtype):
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


cdef TensorBase conform(TensorBase tensor, ScalarType wanted, unsigned int mask, const char *name,
                        const char *argument):
    if (mask >> <int>wanted) & 1:
        return copied(tensor, wanted)
    from mindtorch._npu.acl_loader import toolkit
    raise NotImplementedError(f"{name.decode()}: argument {argument.decode()} of dtype "
                              f"{DTYPES[<int>tensor.dtype]} is not supported on npu by {toolkit()}")


# Integer dtypes by the size of an element.
cdef int INTEGERS[17]
INTEGERS[:] = [<int>Undefined] * 17
INTEGERS[1], INTEGERS[2], INTEGERS[4], INTEGERS[8] = <int>Byte, <int>Short, <int>Int, <int>Long


cdef TensorBase as_bits(TensorBase tensor, unsigned int mask, const char *name, const char *argument):
    cdef TensorBase view
    cdef int dtype = INTEGERS[ITEMSIZE[<int>tensor.dtype]]
    if dtype == Undefined or not (mask >> dtype) & 1:
        return conform(tensor, tensor.dtype, mask, name, argument)
    view = make_view(tensor, tensor.ndim, tensor.sizes, tensor.strides, tensor.offset)
    view.dtype = <ScalarType>dtype
    return view


cdef TensorBase make_contiguous(TensorBase tensor):
    return tensor if tensor.contiguous else copied(tensor, tensor.dtype)


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
    BOUNCE_LIMIT = 1024 * 1024       # copies of up to so many bytes go through a pinned buffer
    COPIED = 1 << Byte               # the dtype as which aclnnInplaceCopy copies 8-bit floats
    COMMON = (1 << Undefined) - 1
    # The dtypes that aclnnCast documents.
    CAST = COMMON | 1 << Float8_e5m2 | 1 << Float8_e4m3fn | 1 << UInt16 | 1 << UInt32 | 1 << UInt64

ctypedef aclnnStatus (*CopyPhase1)(aclTensor *, const aclTensor *, uint64_t *, aclOpExecutor **) noexcept nogil
ctypedef aclnnStatus (*CastPhase1)(const aclTensor *, aclDataType, aclTensor *, uint64_t *,
                                   aclOpExecutor **) noexcept nogil

cdef AclnnFunction IN_PLACE_COPY, CAST_TO       # looked up at their first use


cdef inline int require_function(AclnnFunction *function, const char *name) except -1:
    if function.phase1 == NULL:
        find_function(function, name.decode())
        if function.phase1 == NULL:
            missing_symbol(name, b"8.0")
    return 0


cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    if dst.numel == 0:
        return 0
    if src.device_type != NPU:
        return upload(dst, src, non_blocking)
    if dst.device_type != NPU:
        return download(dst, src, non_blocking)
    if dst.device_index != src.device_index:
        return across(dst, src)
    return on_device(dst, src)


# Within one device

cdef int on_device(TensorBase dst, TensorBase src) except -1:
    cdef Call call
    cdef aclTensor *target
    cdef aclTensor *source
    if is_float8(dst.dtype) or is_float8(src.dtype):
        if dst.dtype != src.dtype:
            return cast_on_device(dst, src)
        dst = as_bits(dst, COPIED, b"aclnnInplaceCopy", b"selfRef")
        src = as_bits(src, COPIED, b"aclnnInplaceCopy", b"src")
    require_function(&IN_PLACE_COPY, b"aclnnInplaceCopy")
    if dst.ndim > MAX_RANK and dst.contiguous and src.contiguous and same_sizes(dst, src):
        dst = flat(dst)
        src = flat(src)
    open_call(&call, dst)
    target = tensor_argument(&call, dst)
    source = tensor_argument(&call, src)
    return launch(&call, (<CopyPhase1>IN_PLACE_COPY.phase1)(target, source, &call.workspace_size, &call.executor),
                  b"aclnnInplaceCopy", <Phase2>IN_PLACE_COPY.phase2)


cdef int cast_on_device(TensorBase dst, TensorBase src) except -1:
    cdef Call call
    cdef Shape shape
    cdef aclTensor *target
    cdef aclTensor *source
    require_function(&CAST_TO, b"aclnnCast")
    same(&shape, dst)
    src = conform(expand_to(src, &shape), src.dtype, CAST, b"aclnnCast", b"self")
    conform(dst, dst.dtype, CAST, b"aclnnCast", b"out")
    open_call(&call, dst)
    target = tensor_argument(&call, dst)
    source = tensor_argument(&call, src)
    return launch(&call, (<CastPhase1>CAST_TO.phase1)(source, ACL_DTYPES[<int>dst.dtype], target,
                                                      &call.workspace_size, &call.executor),
                  b"aclnnCast", <Phase2>CAST_TO.phase2)


cdef TensorBase flat(TensorBase tensor):
    cdef int64_t stride = 1
    return make_view(tensor, 1, &tensor.numel, &stride, tensor.offset)


cdef bint same_sizes(TensorBase a, TensorBase b) noexcept:
    return a.ndim == b.ndim and memcmp(a.sizes, b.sizes, a.ndim * sizeof(int64_t)) == 0


cdef bint takes_bytes_of(TensorBase dst, TensorBase src) noexcept:
    """Whether the elements of `src`, in order, are the memory of `dst`."""
    return dst.contiguous and dst.dtype == src.dtype and same_sizes(dst, src)


cdef TensorBase shaped_like(TensorBase like, ScalarType dtype, int device_type, int device_index):
    cdef Shape shape
    shape.ndim = like.ndim
    memcpy(shape.sizes, like.sizes, like.ndim * sizeof(int64_t))
    return empty_tensor(&shape, dtype, device_type, device_index)


cdef TensorBase dense_on_device(TensorBase src, ScalarType dtype):
    """`src` as a contiguous tensor of `dtype` on its device; `src` itself if it is that."""
    if src.contiguous and src.dtype == dtype:
        return src
    cdef TensorBase dense = shaped_like(src, dtype, NPU, src.device_index)
    on_device(dense, src)
    return dense


# Host to device

cdef int upload(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef TensorBase target = dst
    cdef TensorBase dense = src
    if not src.contiguous:
        dense = shaped_like(src, src.dtype, CPU, 0)
        require_backend(CPU)
        BACKENDS[<int>CPU].copy(dense, src, False)
    if not takes_bytes_of(dst, src):
        target = shaped_like(src, src.dtype, NPU, dst.device_index)
    upload_bytes(target, dense, non_blocking)
    return 0 if target is dst else on_device(dst, target)


cdef int upload_bytes(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef size_t nbytes = src.numel * ITEMSIZE[<int>src.dtype]
    cdef StreamSlot *stream = current_stream(dst.device_index)
    cdef char *target = dst.data_ptr()
    cdef char *source = src.data_ptr()
    cdef PinnedBlock *block
    if isinstance(src.storage, PinnedStorage):
        if not non_blocking:
            about_to_wait()
        enqueue(target, source, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
        if non_blocking:
            return hold_pinned((<PinnedStorage>src.storage).block, stream)
        return wait_for_stream(stream)
    if nbytes <= BOUNCE_LIMIT:
        block = take_pinned(nbytes)
        try:
            memcpy(block.address, source, nbytes)
            enqueue(target, <char *>block.address, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
            return hold_pinned(block, stream)
        finally:
            release_pinned(block)
    about_to_wait()
    wait_for_stream(stream)
    return transfer(target, source, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)


cdef int enqueue(char *dst, char *src, size_t nbytes, aclrtMemcpyKind kind, StreamSlot *stream) except -1:
    cdef int status
    use_device(stream.device)
    stream.launches += 1
    with nogil:
        status = api.aclrtMemcpyAsync(dst, nbytes, src, nbytes, kind, stream.handle)
    stream.launches -= 1
    check(status, b"aclrtMemcpyAsync")
    return 0


cdef int transfer(char *dst, char *src, size_t nbytes, aclrtMemcpyKind kind, StreamSlot *stream) except -1:
    use_device(stream.device)
    with nogil:
        check(api.aclrtMemcpy(dst, nbytes, src, nbytes, kind), b"aclrtMemcpy")
    return 0


# Device to host

cdef int download(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    cdef TensorBase dense = dense_on_device(src, dst.dtype)
    cdef TensorBase target = dst if takes_bytes_of(dst, dense) else shaped_like(src, dst.dtype, CPU, 0)
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *stream = current_stream(src.device_index)
    if non_blocking and target is dst and isinstance(dst.storage, PinnedStorage):
        enqueue(dst.data_ptr(), dense.data_ptr(), nbytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
        return hold_pinned((<PinnedStorage>dst.storage).block, stream)
    about_to_wait()
    use_device(src.device_index)
    runtime.get_runtime(src.device_index).synchronize(<intptr_t>stream.handle)
    transfer(target.data_ptr(), dense.data_ptr(), nbytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
    if target is not dst:
        require_backend(CPU)
        return BACKENDS[<int>CPU].copy(dst, target, False)
    return 0


cdef int read(TensorBase src, char *elements) except -1:
    cdef TensorBase dense = dense_on_device(src, src.dtype)
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *stream = current_stream(src.device_index)
    cdef char *source = dense.data_ptr()
    about_to_wait()
    use_device(stream.device)
    with nogil:
        check(api.aclrtSynchronizeStream(stream.handle), b"aclrtSynchronizeStream")
        check(api.aclrtMemcpy(elements, nbytes, source, nbytes, ACL_MEMCPY_DEVICE_TO_HOST), b"aclrtMemcpy")
    return 0


# Device to device

cdef int across(TensorBase dst, TensorBase src) except -1:
    """Copy between two devices: over their link if there is one, else through pinned host memory."""
    cdef TensorBase dense = dense_on_device(src, dst.dtype)
    cdef TensorBase target = dst
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *source_stream = current_stream(src.device_index)
    cdef StreamSlot *stream = current_stream(dst.device_index)
    if not takes_bytes_of(dst, dense):
        target = shaped_like(src, dst.dtype, NPU, dst.device_index)
    if peers.connect(dst.device_index, src.device_index):
        let_wait(source_stream, stream)          # earlier work may read or write the target
        enqueue(target.data_ptr(), dense.data_ptr(), nbytes, ACL_MEMCPY_DEVICE_TO_DEVICE, source_stream)
        try:
            let_wait(stream, source_stream)
        except BaseException:
            wait_for_stream(source_stream)       # the copy is under way already
            raise
    else:
        through_host(target.data_ptr(), dense.data_ptr(), nbytes, source_stream, stream)
    return 0 if target is dst else on_device(dst, target)


cdef int through_host(char *dst, char *src, size_t nbytes, StreamSlot *source_stream, StreamSlot *stream) except -1:
    cdef PinnedBlock *block
    about_to_wait()
    block = take_pinned(nbytes)
    try:
        enqueue(<char *>block.address, src, nbytes, ACL_MEMCPY_DEVICE_TO_HOST, source_stream)
        wait_for_stream(source_stream)
        enqueue(dst, <char *>block.address, nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
        return hold_pinned(block, stream)
    finally:
        release_pinned(block)
