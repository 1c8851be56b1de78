"""Python numbers on their way into ops, and back."""
from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsUnsignedLongLong, PyLong_Check
from libc.math cimport INFINITY, copysign, fabs, frexp, isfinite, ldexp, nearbyint
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy


cdef type NUMPY_SCALAR = numpy.generic
cdef type NUMPY_NUMBER = numpy.number
cdef type NUMPY_BOOL = numpy.bool_
cdef type NUMPY_INTEGER = numpy.integer
cdef type NUMPY_COMPLEX = numpy.complexfloating


cdef inline int set_integer(object number, Scalar *scalar, ScalarKind kind) except -1:
    cdef int overflow = 0
    cdef uint64_t unsigned
    cdef int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow)
    if overflow != 0:
        # As in torch, numbers up to 2**64 - 1 keep their bits; greater ones raise OverflowError here.
        unsigned = PyLong_AsUnsignedLongLong(number)
        scalar.kind = kind
        scalar.integer = <int64_t>unsigned
        scalar.real = <double>unsigned
        scalar.imag = 0.0
        return 0
    if value == -1:
        # Distinguishes the number -1 from an error inside the conversion.
        value = <int64_t>number
    scalar.kind = kind
    scalar.integer = value
    scalar.real = <double>value
    scalar.imag = 0.0
    return 0


cdef inline void set_real(double value, Scalar *scalar) noexcept:
    scalar.kind = FLOAT_KIND
    scalar.integer = 0
    scalar.real = value
    scalar.imag = 0.0


cdef int scalar_from(object number, Scalar *scalar) except -1:
    if PyFloat_Check(number):
        set_real(PyFloat_AS_DOUBLE(number), scalar)
        return 0
    if PyLong_Check(number):
        return set_integer(number, scalar, BOOL_KIND if PyBool_Check(number) else INT_KIND)
    if PyComplex_Check(number):
        scalar.kind = COMPLEX_KIND
        scalar.integer = 0
        scalar.real = PyComplex_RealAsDouble(number)
        scalar.imag = PyComplex_ImagAsDouble(number)
        return 0
    if isinstance(number, NUMPY_SCALAR):
        return numpy_scalar(number, scalar)
    raise TypeError(f"must be Number, not {type(number).__name__}")


cdef int numpy_scalar(object number, Scalar *scalar) except -1:
    if isinstance(number, NUMPY_BOOL):
        return set_integer(int(number), scalar, BOOL_KIND)
    if isinstance(number, NUMPY_INTEGER):
        return set_integer(int(number), scalar, INT_KIND)
    if isinstance(number, NUMPY_COMPLEX):
        return scalar_from(complex(number), scalar)
    if isinstance(number, NUMPY_NUMBER) or hasattr(number, "__float__"):
        set_real(float(number), scalar)
        return 0
    raise TypeError(f"must be Number, not {type(number).__name__}")


cdef bint is_scalar(object number) noexcept:
    return (PyFloat_Check(number) or PyLong_Check(number) or PyComplex_Check(number)
            or isinstance(number, (NUMPY_NUMBER, NUMPY_BOOL)))


cdef double rounded(double value, int digits, int least, double largest) noexcept:
    """To the nearest number of so many binary digits that is a multiple of 2**least, by way of float32 as in torch."""
    cdef double result = <float>value
    cdef int exponent = 0
    if not isfinite(result):
        return result
    frexp(result, &exponent)
    exponent = max(exponent - digits, least)
    result = ldexp(nearbyint(ldexp(result, -exponent)), exponent)
    return result if fabs(result) <= largest else copysign(INFINITY, result)


cdef inline void set_rounded(Scalar *number, int digits, int least, double largest) noexcept:
    cdef double value = rounded(number.real, digits, least, largest)
    if value != number.real:            # else an integer stays one
        set_real(value, number)


cdef Scalar as_element(const Scalar *number, ScalarType dtype) noexcept:
    cdef Scalar result = number[0]
    cdef bint integral = Byte <= dtype <= Long or UInt16 <= dtype <= UInt64
    if result.kind == FLOAT_KIND and integral and -9.2e18 < result.real < 9.2e18:
        result.kind = INT_KIND
        result.integer = <int64_t>result.real
    if dtype == Bool:
        result.integer = result.integer != 0 if result.kind <= INT_KIND else result.real != 0 or result.imag != 0
        result.real, result.kind = <double>result.integer, BOOL_KIND
        return result
    if dtype == Half and result.kind != COMPLEX_KIND:
        set_rounded(&result, 11, -24, 65504.0)
    elif dtype == BFloat16 and result.kind != COMPLEX_KIND:
        set_rounded(&result, 8, -133, 3.3895313892515355e38)
    if result.kind != INT_KIND:
        return result
    if dtype == Byte:
        result.integer = <uint8_t>result.integer
    elif dtype == Char:
        result.integer = <int8_t>result.integer
    elif dtype == Short:
        result.integer = <int16_t>result.integer
    elif dtype == Int:
        result.integer = <int32_t>result.integer
    elif dtype == UInt16:
        result.integer = <uint16_t>result.integer
    elif dtype == UInt32:
        result.integer = <uint32_t>result.integer
    elif dtype == UInt64:
        result.real = <double><uint64_t>result.integer
        return result
    elif dtype != Long and result.integer < 0 < result.real:
        set_real(result.real, &result)
        return result
    result.real = <double>result.integer
    return result


cdef object scalar_to(const Scalar *scalar):
    if scalar.kind == BOOL_KIND:
        return scalar.integer != 0
    if scalar.kind == INT_KIND:
        return <uint64_t>scalar.integer if scalar.integer < 0 < scalar.real else scalar.integer
    if scalar.kind == FLOAT_KIND:
        return scalar.real
    return complex(scalar.real, scalar.imag)
