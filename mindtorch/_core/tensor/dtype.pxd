"""torch.dtype, the rules of promotion and casting, and Python numbers as C values."""
from libc.stdint cimport int64_t


# --- scalars ---------------------------------------------------------------------------------------------------------
# ScalarType: torch's numbering of dtypes. Scalar: a Python number on its way into an op, by value.


cdef enum ScalarType:
    Byte = 0
    Char = 1
    Short = 2
    Int = 3
    Long = 4
    Half = 5
    Float = 6
    Double = 7
    ComplexFloat = 9
    ComplexDouble = 10
    Bool = 11
    BFloat16 = 15
    Undefined = 16
    # Rare: kernels refuse these unless a list has them. Their numbers lie above all others, so that one comparison
    # finds them, and below 32, where the masks of dtypes end: Float8_e8m0fnu is 44 in torch.
    Float8_e5m2 = 23
    Float8_e4m3fn = 24
    Float8_e5m2fnuz = 25
    Float8_e4m3fnuz = 26
    UInt16 = 27
    UInt32 = 28
    UInt64 = 29
    Float8_e8m0fnu = 30


cdef enum:
    NUM_SCALAR_TYPES = 31          # length of tables indexed by ScalarType


cdef enum ScalarKind:          # the order is that of type promotion
    BOOL_KIND = 0
    INT_KIND = 1
    FLOAT_KIND = 2
    COMPLEX_KIND = 3


cdef struct Scalar:
    ScalarKind kind
    int64_t integer            # BOOL_KIND and INT_KIND; negative beside a positive `real`: the bits of a uint64
    double real                # always set, so that a reader of floats needs no branch
    double imag                # COMPLEX_KIND


# bool, int, float, complex and NumPy scalars; else TypeError. OverflowError beyond 64 bits.
cdef int scalar_from_python(object number, Scalar *scalar) except -1
cdef bint is_scalar(object number) noexcept                     # what scalar_from_python would take
# As an element of `dtype` holds it: integers wrap around, floats lose their fraction beside integers and are rounded
# beside floats of 16 bits; numbers beyond int64 are real where elements are.
cdef Scalar cast_scalar(const Scalar *number, ScalarType dtype) noexcept
cdef object scalar_to_python(const Scalar *scalar)                     # back to a Python number


# --- dtypes ----------------------------------------------------------------------------------------------------------
# torch.dtype and the tables that go with it, indexed by ScalarType.


cdef class dtype:
    cdef readonly ScalarType code
    cdef readonly int itemsize
    cdef readonly str name                    # "float32"
    cdef readonly object numpy_dtype          # numpy.dtype; ml_dtypes' for bfloat16 and the floats of 8 bits

cdef int ITEMSIZE[NUM_SCALAR_TYPES]
cdef int ITEM_SHIFT[NUM_SCALAR_TYPES]             # ITEMSIZE is 1 << ITEM_SHIFT
cdef ScalarKind KIND[NUM_SCALAR_TYPES]            # category for promotion and casts
cdef list DTYPES                                  # ScalarType -> dtype (None where there is none)
cdef list SCALAR_TYPE_NAMES                       # ScalarType -> the name in messages and legacy type strings ("Float")
cdef dict NUMPY_TO_SCALAR_TYPE                    # numpy.dtype -> ScalarType

cdef inline bint is_float8(ScalarType dtype) noexcept nogil:
    return Float8_e5m2 <= dtype <= Float8_e4m3fnuz or dtype == Float8_e8m0fnu

cdef ScalarType promote_types(ScalarType a, ScalarType b) except? Undefined nogil    # RuntimeError for rare dtypes
cdef bint can_cast(ScalarType source, ScalarType target) noexcept nogil    # torch.can_cast: never to a lower category
cdef ScalarType default_dtype() noexcept nogil                             # torch.get_default_dtype()
cdef ScalarType default_complex_dtype() noexcept nogil  # the complex dtype of the default dtype
cdef ScalarType to_scalar_type(object dtype_or_none, ScalarType otherwise) except *   # TypeError for what is no dtype
cdef ScalarType numpy_to_scalar_type(object numpy_dtype) except *  # TypeError for what no tensor can hold
cdef str dtype_name(ScalarType code)
