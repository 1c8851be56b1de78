"""torch.dtype and the tables that go with it, indexed by ScalarType."""
from mindtorch._core.scalar cimport (
    BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat, Double, Float, Float8_e4m3fn, Float8_e4m3fnuz, Float8_e5m2,
    Float8_e5m2fnuz, Float8_e8m0fnu, Half, Int, Long, Short, UInt16, UInt32, UInt64, Undefined,
    BOOL_KIND, COMPLEX_KIND, FLOAT_KIND, INT_KIND, SCALAR_TYPES, ScalarKind, ScalarType)


cdef class dtype:
    cdef readonly ScalarType code
    cdef readonly int itemsize
    cdef readonly str name                    # "float32"
    cdef readonly object numpy_dtype          # numpy.dtype; ml_dtypes' for bfloat16 and the floats of 8 bits

cdef int ITEMSIZE[SCALAR_TYPES]
cdef ScalarKind KIND[SCALAR_TYPES]            # category for promotion and casts
cdef list DTYPES                              # ScalarType -> dtype (None where there is none)
cdef list CODE_NAMES                          # ScalarType -> the name in messages and legacy type strings ("Float")
cdef dict NUMPY_CODES                         # numpy.dtype -> ScalarType

cdef inline bint is_float8(ScalarType dtype) noexcept nogil:
    return Float8_e5m2 <= dtype <= Float8_e4m3fnuz or dtype == Float8_e8m0fnu

cdef ScalarType promote_types(ScalarType a, ScalarType b) except? Undefined nogil    # RuntimeError for rare dtypes
cdef bint can_cast(ScalarType source, ScalarType target) noexcept nogil    # torch.can_cast: never to a lower category
cdef ScalarType default_dtype() noexcept nogil                             # torch.get_default_dtype()
cdef ScalarType default_complex() noexcept nogil                           # the complex dtype of the default dtype
cdef ScalarType dtype_code(object dtype_or_none, ScalarType otherwise) except *   # TypeError for what is no dtype
cdef ScalarType numpy_code(object numpy_dtype) except *                    # TypeError for what no tensor can hold
cdef str code_name(ScalarType code)
