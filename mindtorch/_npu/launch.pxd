"""One launch for all operators, descriptors, and copies that have the NPU on one side or both."""
from libc.stdint cimport int64_t, uint64_t

from mindtorch._core.tensor.dtype cimport ITEMSIZE, SCALAR_TYPES, Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport (
    aclBoolArray, aclDataType, aclFormat, aclIntArray, aclOpExecutor, aclScalar, aclScalarList, aclTensor,
    aclTensorList, aclnnStatus, aclrtStream,
)
from mindtorch._npu.structs cimport StreamSlot


# --- descriptors -----------------------------------------------------------------------------------------------------
# aclTensor: how an operator sees a tensor. Descriptors own nothing and copy nothing but sizes and strides.


cdef enum:
    MAX_RANK = 8                     # what ACLNN takes

cdef aclDataType ACL_DTYPES[SCALAR_TYPES]
cdef aclFormat FORMATS[MAX_RANK + 1]

# NULL where there is no descriptor; then `no_descriptor` says why.
cdef inline aclTensor *try_describe(TensorBase tensor) noexcept:
    # The storage is told as one dimension: it may hold more than the view, in any layout.
    cdef int64_t elements
    if tensor.ndim > MAX_RANK:
        return NULL
    elements = <int64_t>(tensor.storage.nbytes // ITEMSIZE[<int>tensor.dtype])
    return api.aclCreateTensor(tensor.sizes, tensor.ndim, ACL_DTYPES[<int>tensor.dtype], tensor.strides,
                               tensor.offset, FORMATS[tensor.ndim], &elements, 1, tensor.storage.data)

cdef inline aclTensor *describe(TensorBase tensor) except NULL:
    cdef aclTensor *descriptor = try_describe(tensor)
    if descriptor == NULL:
        no_descriptor(tensor)
    return descriptor

cdef int no_descriptor(TensorBase tensor) except -1                  # always raises


# --- launches --------------------------------------------------------------------------------------------------------
# One launch for all ops: aclnn_call.pyx describes arguments into a Call, `launch` does the rest.


cdef enum:
    MAX_ARGUMENTS = 24
    LIST_TENSORS = 48                 # what one operator takes in all its lists; torch_npu gives no more either

ctypedef aclnnStatus (*Phase2)(void *, uint64_t, aclOpExecutor *, aclrtStream) noexcept nogil

cdef struct Call:                     # lives on the stack of one op
    int device                        # index of the device the op runs on
    StreamSlot *stream                # the calling thread's current stream there
    uint64_t workspace_size
    aclOpExecutor *executor
    int count                         # handles made so far: freed by launch, on every path
    int objects                       # how many of them are Python objects
    bint reports                      # the operator writes shapes it has found to descriptors, which outlive launch
    void *handles[MAX_ARGUMENTS]
    unsigned char kinds[MAX_ARGUMENTS]

# Makes the device of `out` current for this thread, finds its current stream, zeroes the counts.
cdef int open_call(Call *call, TensorBase out) except -1

# One marshaller per argument kind. Each adds to `call` what it made; on failure it raises, having freed all of `call`.
cdef aclTensor *tensor_argument(Call *call, TensorBase tensor) except NULL
cdef aclTensor *optional_tensor_argument(Call *call, TensorBase tensor) except? NULL     # None: NULL
cdef aclTensorList *tensor_list_argument(Call *call, list tensors) except? NULL         # empty: NULL
cdef aclScalarList *scalar_list_argument(Call *call, tuple numbers, ScalarType dtype) except NULL
cdef aclScalar *scalar_argument(Call *call, const Scalar *scalar) except NULL
cdef aclIntArray *int_array_argument(Call *call, const Shape *values) except NULL
cdef aclBoolArray *bool_array_argument(Call *call, const Shape *values) except NULL
cdef inline aclDataType acl_dtype(ScalarType dtype) noexcept nogil:
    return ACL_DTYPES[<int>dtype]

# `status`: what phase 1 returned. Workspace, phase 2 without the GIL, status check, descriptors freed; waits for the
# stream when ACL_LAUNCH_BLOCKING=1. `name` is the operator's name ("aclnnAdd"), for errors.
cdef int launch(Call *call, aclnnStatus status, const char *name, Phase2 phase2) except -1

# After the launch of a call that reports: waits for the stream, takes over what a descriptor says about an output that
# is contiguous, and frees all that the call holds. Each frees that before it raises.
cdef int await_reports(Call *call) except -1
cdef int take_report(Call *call, const aclTensor *descriptor, TensorBase out) except -1
cdef void close_call(Call *call) noexcept

# Slow paths of aclnn_call.pyx.
cdef int missing_symbol(const char *name, const char *since) except -1      # always raises NotImplementedError
cdef int refuse_capture(const char *name) except -1                            # always raises
# A tensor whose dtype the operator does not document: cast to `wanted` where `mask` (bit = ScalarType) has that, else
# NotImplementedError naming op, argument, dtype, device and CANN version.
cdef TensorBase conform(TensorBase tensor, ScalarType wanted, unsigned int mask, const char *name, const char *argument)
# For operators that only move elements: those of a dtype that `mask` lacks as integers of their size, in place.
cdef TensorBase as_bits(TensorBase tensor, unsigned int mask, const char *name, const char *argument)
cdef TensorBase make_contiguous(TensorBase tensor)                          # for operators that take no strides


# --- copies ----------------------------------------------------------------------------------------------------------
# Backend.copy and Backend.read of the NPU.


cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1
cdef int read(TensorBase src, char *elements) except -1
