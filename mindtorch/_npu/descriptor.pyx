"""Tables behind descriptor.pxd."""
from mindtorch._core.scalar cimport (
    BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat, Double, Float, Float8_e4m3fn, Float8_e5m2, Float8_e8m0fnu,
    Half, Int, Long, Short, UInt16, UInt32, UInt64)
from mindtorch._core.dtype cimport DTYPES
from mindtorch._core.tensor cimport TensorBase
from mindtorch._npu.cann.acl_base_rt cimport (
    ACL_BF16, ACL_BOOL, ACL_COMPLEX64, ACL_COMPLEX128, ACL_DOUBLE, ACL_DT_UNDEFINED, ACL_FLOAT, ACL_FLOAT16,
    ACL_FLOAT8_E4M3FN, ACL_FLOAT8_E5M2, ACL_FLOAT8_E8M0, ACL_FORMAT_NCDHW, ACL_FORMAT_NCHW, ACL_FORMAT_NCL,
    ACL_FORMAT_ND, ACL_INT8, ACL_INT16, ACL_INT32, ACL_INT64, ACL_UINT8, ACL_UINT16, ACL_UINT32, ACL_UINT64)
from mindtorch._npu.errors import driver_message


cdef int number
for number in range(SCALAR_TYPES):
    ACL_DTYPES[number] = ACL_DT_UNDEFINED
ACL_DTYPES[<int>Byte] = ACL_UINT8
ACL_DTYPES[<int>Char] = ACL_INT8
ACL_DTYPES[<int>Short] = ACL_INT16
ACL_DTYPES[<int>Int] = ACL_INT32
ACL_DTYPES[<int>Long] = ACL_INT64
ACL_DTYPES[<int>Half] = ACL_FLOAT16
ACL_DTYPES[<int>Float] = ACL_FLOAT
ACL_DTYPES[<int>Double] = ACL_DOUBLE
ACL_DTYPES[<int>ComplexFloat] = ACL_COMPLEX64
ACL_DTYPES[<int>ComplexDouble] = ACL_COMPLEX128
ACL_DTYPES[<int>Bool] = ACL_BOOL
ACL_DTYPES[<int>BFloat16] = ACL_BF16
ACL_DTYPES[<int>UInt16] = ACL_UINT16
ACL_DTYPES[<int>UInt32] = ACL_UINT32
ACL_DTYPES[<int>UInt64] = ACL_UINT64
ACL_DTYPES[<int>Float8_e5m2] = ACL_FLOAT8_E5M2
ACL_DTYPES[<int>Float8_e4m3fn] = ACL_FLOAT8_E4M3FN
ACL_DTYPES[<int>Float8_e8m0fnu] = ACL_FLOAT8_E8M0

# Operators that care about channels take the format from the rank, as torch_npu gives it.
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
