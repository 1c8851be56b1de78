"""aclTensor: how an operator sees a tensor. Descriptors own nothing and copy nothing but sizes and strides."""
from libc.stdint cimport int64_t

from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.scalar cimport SCALAR_TYPES
from mindtorch._core.tensor cimport TensorBase
from mindtorch._npu.cann.acl_base_rt cimport aclDataType, aclFormat
from mindtorch._npu.cann.acl_meta cimport aclTensor
from mindtorch._npu.symbols cimport api

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
