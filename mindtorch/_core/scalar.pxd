"""ScalarType: torch's numbering of dtypes. Scalar: a Python number on its way into an op, by value."""
from libc.stdint cimport int64_t


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
    # Rare: kernels refuse these unless told otherwise. Their numbers lie above all others, so that one comparison
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
    SCALAR_TYPES = 31          # length of tables indexed by ScalarType


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
cdef int scalar_from(object number, Scalar *scalar) except -1
cdef bint is_scalar(object number) noexcept                     # what scalar_from would take
# As an element of `dtype` holds it: integers wrap around, floats lose their fraction beside integers and are rounded
# beside floats of 16 bits; numbers beyond int64 are real where elements are.
cdef Scalar as_element(const Scalar *number, ScalarType dtype) noexcept
cdef object scalar_to(const Scalar *scalar)                     # back to a Python number
