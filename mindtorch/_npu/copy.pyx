"""Copies that have the NPU on one side or both.

1. Bytes travel between contiguous memory of one dtype; casts, broadcasts and strides are aclnnInplaceCopy's, on the
   device (aclnnCast's to and from floats of 8 bits). A side that is not so is staged through a tensor that is.
2. Pinned memory and `non_blocking`: the copy is one more task of the stream.
3. Pageable memory to the device: small copies go through a pinned buffer and do not wait for the device; larger ones
   wait for the stream, since a synchronous copy is not ordered with the work queued there.
4. To the host: waits for the stream, unless 2 applies.
5. Between devices: a task of the source's stream, which waits for the target's stream, and that one for it.
"""
from libc.stdint cimport int64_t, intptr_t, uint64_t
from libc.string cimport memcmp, memcpy

from mindtorch._core.device cimport BACKENDS, CPU, NPU, require_backend
from mindtorch._core.dtype cimport ITEMSIZE, is_float8
from mindtorch._core.infer cimport same
from mindtorch._core.scalar cimport (
    Byte, Float8_e4m3fn, Float8_e5m2, ScalarType, UInt16, UInt32, UInt64, Undefined)
from mindtorch._core.tensor cimport Shape, TensorBase, empty_tensor, make_view
from mindtorch._core.views cimport expand_to
from mindtorch._npu import peers, runtime

from mindtorch._npu.cann.acl_base_rt cimport aclDataType
from mindtorch._npu.cann.acl_meta cimport aclnnStatus, aclOpExecutor, aclTensor
from mindtorch._npu.cann.acl_rt cimport (
    ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, aclrtMemcpyKind)
from mindtorch._npu.descriptor cimport ACL_DTYPES, MAX_RANK
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport about_to_wait, current_stream, let_wait, use_device, wait_for_stream
from mindtorch._npu.host_memory cimport PinnedBlock, PinnedStorage, hold_pinned, release_pinned, take_pinned
from mindtorch._npu.launch cimport (
    Call, Phase2, as_bits, conform, launch, missing_symbol, open_call, tensor_argument)
from mindtorch._npu.records cimport StreamSlot
from mindtorch._npu.symbols cimport AclnnFunction, api, find_function


cdef enum:
    BOUNCE_LIMIT = 1024 * 1024       # bytes that are copied through a pinned buffer
    COPIED = 1 << Byte               # what the floats of 8 bits, which aclnnInplaceCopy does not document, are to it
    COMMON = (1 << Undefined) - 1
    # What aclnnCast documents.
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
    """`src`, which is on a device, contiguous and as `dtype`."""
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
    """From one device to another: over the link between them where there is one, else through pinned host memory."""
    cdef TensorBase dense = dense_on_device(src, dst.dtype)
    cdef TensorBase target = dst
    cdef size_t nbytes = dense.numel * ITEMSIZE[<int>dense.dtype]
    cdef StreamSlot *source_stream = current_stream(src.device_index)
    cdef StreamSlot *stream = current_stream(dst.device_index)
    if not takes_bytes_of(dst, dense):
        target = shaped_like(src, dst.dtype, NPU, dst.device_index)
    if peers.connect(dst.device_index, src.device_index):
        let_wait(source_stream, stream)          # what writes and reads the target before
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
