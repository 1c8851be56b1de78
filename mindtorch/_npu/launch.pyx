"""One launch for all ops: aclnn_call.pyx describes arguments into a Call, `launch` does the rest.

1. open_call, the marshallers and phase 1 run under the GIL: they only touch host memory and never wait.
2. Phase 2 runs without the GIL, because it waits while the stream's queue is full.
3. Descriptors are destroyed as soon as phase 2 has returned, device memory when the stream has passed the op: its order
   sees to that.
"""
import os

cimport cython
from cpython.ref cimport Py_INCREF, PyObject, Py_XDECREF
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libcpp cimport bool as cbool

from mindtorch._core.device cimport BACKENDS, NPU
from mindtorch._core.dtype cimport DTYPES, ITEMSIZE
from mindtorch._core.profiling cimport clock, note_call
from mindtorch._core.scalar cimport (
    BOOL_KIND, COMPLEX_KIND, FLOAT_KIND, Byte, Int, Long, Scalar, Short, Undefined, as_element, scalar_from)
from mindtorch._core.tensor cimport (
    MAX_DIMS, Shape, TensorBase, contiguous_strides, empty_tensor, make_view, set_geometry)
from mindtorch._npu.allocator cimport NpuAllocator, allocate_block, free_block
from mindtorch._npu.cann.acl_base_rt cimport ACL_BOOL, ACL_COMPLEX128, ACL_DOUBLE, ACL_INT64
from mindtorch._npu.cann.acl_meta cimport (
    aclBoolArray, aclIntArray, aclScalar, aclScalarList, aclTensor, aclTensorList)
from mindtorch._npu.deferred cimport (
    INT_ARRAY, OBJECT, SCALAR, TENSOR, TENSOR_LIST, Kind, defer, destroy, destroy_bool_array, destroy_executor,
    destroy_scalar_list)
from mindtorch._npu.descriptor cimport describe, no_descriptor, try_describe
from mindtorch._npu.errors import check_status, driver_message
from mindtorch._npu.handles cimport about_to_wait, bind_device, first_stream, thread_state, use_device, wait_for_stream
from mindtorch._npu.records cimport Block
from mindtorch._npu.symbols cimport api


# What makes an argument, to be named when it made none.
cdef dict MAKERS = {TENSOR: "aclCreateTensor", SCALAR: "aclCreateScalar", INT_ARRAY: "aclCreateIntArray",
                    TENSOR_LIST: "aclCreateTensorList"}

# Every op has ended when its call returns. Both names are in use: ACL's and torch_npu's.
cdef bint BLOCKING = "1" in (os.environ.get("ACL_LAUNCH_BLOCKING"), os.environ.get("ASCEND_LAUNCH_BLOCKING"))
cdef bint PROFILED = False              # a profile wants to know of launches
cdef bint WATCHED = BLOCKING            # either of the two: something is to be done after a launch


def profile_launches(bint on):
    """Have the profile that records a thread note its launches, or not."""
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
    """The tensors that are not on the device, or could not be described: raises for these."""
    try:
        if tensor.device_type == NPU:
            no_descriptor(tensor)
        return describe(bring(call, tensor))
    except BaseException:
        close_call(call)
        raise


cdef TensorBase bring(Call *call, TensorBase tensor):
    """A number in a 0-d CPU tensor, brought to the op's device; `call` keeps it until phase 2 has returned."""
    cdef Shape shape
    cdef TensorBase brought
    cdef int i
    shape.ndim = tensor.ndim
    for i in range(tensor.ndim):
        shape.sizes[i] = tensor.sizes[i]
    brought = empty_tensor(&shape, tensor.dtype, NPU, call.device)
    BACKENDS[<int>NPU].copy(brought, tensor, False)
    use_device(call.device)                      # the copy may have looked after other devices
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
    """Kept as a Python object, as BoolArray is."""
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
    """Rare among arguments, so a call keeps it as a Python object: `destroy` need not know one kind more."""
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
    """Frees all that `call` holds; nothing will be launched."""
    if call.executor != NULL:
        destroy_executor(call.executor)
        call.executor = NULL
    destroy_all(call)
    if call.objects != 0:
        release_objects(call)
    call.count = 0


cdef int free_workspace(Block *scratch, StreamSlot *stream) except -1:
    """What the stream does next runs after what uses it."""
    if stream.updates:                           # a task of a graph, which uses it whenever the graph is run
        scratch.left = stream.capture.workspaces
        stream.capture.workspaces = scratch
    elif (<NpuAllocator>stream.allocator).source is None:
        free_block(scratch)
    else:                                        # an allocator of the user's, who may give it to anybody at once
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
            use_device(call.device)              # the allocator may have looked after other devices
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
    call.executor = NULL                         # phase 2 consumes it, also where it fails
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


# What follows a launch whose operator decides the shapes of its outputs.

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
        call.executor = NULL                     # nothing was handed out
    try:
        check_status(status, name.decode() + ("GetWorkspaceSize" if in_phase_1 else ""))
    finally:
        close_call(call)
    return -1


# Slow paths of aclnn_call.pyx

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


# By the size of an element.
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
