"""torch.dtype, the rules of promotion and casting, and Python numbers as C values."""
import ml_dtypes
import numpy

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsUnsignedLongLong, PyLong_Check
from libc.math cimport INFINITY, copysign, fabs, frexp, isfinite, ldexp, nearbyint
from libc.stdint cimport int16_t, int32_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t


# --- scalars ---------------------------------------------------------------------------------------------------------
# Python numbers on their way into ops, and back.


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


cdef int scalar_from_python(object number, Scalar *scalar) except -1:
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
        return scalar_from_numpy(number, scalar)
    raise TypeError(f"must be Number, not {type(number).__name__}")


cdef int scalar_from_numpy(object number, Scalar *scalar) except -1:
    if isinstance(number, NUMPY_BOOL):
        return set_integer(int(number), scalar, BOOL_KIND)
    if isinstance(number, NUMPY_INTEGER):
        return set_integer(int(number), scalar, INT_KIND)
    if isinstance(number, NUMPY_COMPLEX):
        return scalar_from_python(complex(number), scalar)
    if isinstance(number, NUMPY_NUMBER) or hasattr(number, "__float__"):
        set_real(float(number), scalar)
        return 0
    raise TypeError(f"must be Number, not {type(number).__name__}")


cdef bint is_scalar(object number) noexcept:
    return (PyFloat_Check(number) or PyLong_Check(number) or PyComplex_Check(number)
            or isinstance(number, (NUMPY_NUMBER, NUMPY_BOOL)))


cdef double round_to_format(double value, int digits, int least, double largest) noexcept:
    """Round to `digits` binary digits and to a multiple of 2**least; first to float32, as torch does."""
    cdef double result = <float>value
    cdef int exponent = 0
    if not isfinite(result):
        return result
    frexp(result, &exponent)
    exponent = max(exponent - digits, least)
    result = ldexp(nearbyint(ldexp(result, -exponent)), exponent)
    return result if fabs(result) <= largest else copysign(INFINITY, result)


cdef inline void set_rounded(Scalar *number, int digits, int least, double largest) noexcept:
    cdef double value = round_to_format(number.real, digits, least, largest)
    if value != number.real:            # else an integer stays one
        set_real(value, number)


cdef Scalar cast_scalar(const Scalar *number, ScalarType dtype) noexcept:
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


cdef object scalar_to_python(const Scalar *scalar):
    if scalar.kind == BOOL_KIND:
        return scalar.integer != 0
    if scalar.kind == INT_KIND:
        return <uint64_t>scalar.integer if scalar.integer < 0 < scalar.real else scalar.integer
    if scalar.kind == FLOAT_KIND:
        return scalar.real
    return complex(scalar.real, scalar.imag)


# --- dtypes ----------------------------------------------------------------------------------------------------------
# torch.dtype: the dtypes, their properties, and the rules of promotion and casting.


cdef class dtype:
    """The element type of a tensor, as `torch.dtype`. The instances are the module's constants (`float32`, ...).

    Example:
        >>> torch.float16.itemsize, torch.float16.is_floating_point
        (2, True)
        >>> torch.ones(1).dtype is torch.float32
        True
    """

    def __init__(self):
        raise TypeError("cannot create 'torch.dtype' instances")

    @property
    def is_floating_point(self):
        return KIND[<int>self.code] == FLOAT_KIND

    @property
    def is_complex(self):
        return KIND[<int>self.code] == COMPLEX_KIND

    @property
    def is_signed(self):
        return self.code not in UNSIGNED_TYPES

    def to_real(self):
        """The dtype of the real part: float32 for complex64, itself for what is not complex."""
        return DTYPES[REAL_TYPE[<int>self.code]]

    def to_complex(self):
        """The complex dtype whose parts have (at least) this precision."""
        if COMPLEX_TYPE[<int>self.code] == Undefined:
            raise RuntimeError(f"Unknown Complex ScalarType for {SCALAR_TYPE_NAMES[self.code]}")
        return DTYPES[COMPLEX_TYPE[<int>self.code]]

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name

    @property
    def __module__(self):
        return "mindtorch"          # pickle would look for it in all modules that there are

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


DTYPES = [None] * NUM_SCALAR_TYPES
SCALAR_TYPE_NAMES = [None] * NUM_SCALAR_TYPES  # the names that torch's messages and legacy type strings use: "Float"

cdef tuple UNSIGNED_TYPES = (Byte, Bool, UInt16, UInt32, UInt64, Float8_e8m0fnu)
cdef ScalarType PROMOTION_TABLE[NUM_SCALAR_TYPES][NUM_SCALAR_TYPES]
cdef ScalarType REAL_TYPE[NUM_SCALAR_TYPES]
cdef ScalarType COMPLEX_TYPE[NUM_SCALAR_TYPES]
cdef ScalarType DEFAULT_DTYPE = Float


cdef int define_dtype(ScalarType code, str type_name, str name, ScalarKind kind) except -1:
    cdef dtype instance = dtype.__new__(dtype)
    instance.code = code
    instance.name = name
    instance.numpy_dtype = numpy.dtype(getattr(ml_dtypes, name, name))
    instance.itemsize = instance.numpy_dtype.itemsize
    ITEMSIZE[<int>code], KIND[<int>code] = instance.itemsize, kind
    while 1 << ITEM_SHIFT[<int>code] < instance.itemsize:
        ITEM_SHIFT[<int>code] += 1
    DTYPES[<int>code] = instance
    SCALAR_TYPE_NAMES[<int>code] = type_name
    REAL_TYPE[<int>code], COMPLEX_TYPE[<int>code] = code, Undefined
    globals()[name] = instance
    return 0


define_dtype(Byte, "Byte", "uint8", INT_KIND)
define_dtype(Char, "Char", "int8", INT_KIND)
define_dtype(Short, "Short", "int16", INT_KIND)
define_dtype(Int, "Int", "int32", INT_KIND)
define_dtype(Long, "Long", "int64", INT_KIND)
define_dtype(Half, "Half", "float16", FLOAT_KIND)
define_dtype(Float, "Float", "float32", FLOAT_KIND)
define_dtype(Double, "Double", "float64", FLOAT_KIND)
define_dtype(ComplexFloat, "ComplexFloat", "complex64", COMPLEX_KIND)
define_dtype(ComplexDouble, "ComplexDouble", "complex128", COMPLEX_KIND)
define_dtype(Bool, "Bool", "bool", BOOL_KIND)
define_dtype(BFloat16, "BFloat16", "bfloat16", FLOAT_KIND)
define_dtype(UInt16, "UInt16", "uint16", INT_KIND)
define_dtype(UInt32, "UInt32", "uint32", INT_KIND)
define_dtype(UInt64, "UInt64", "uint64", INT_KIND)
define_dtype(Float8_e5m2, "Float8_e5m2", "float8_e5m2", FLOAT_KIND)
define_dtype(Float8_e4m3fn, "Float8_e4m3fn", "float8_e4m3fn", FLOAT_KIND)
define_dtype(Float8_e5m2fnuz, "Float8_e5m2fnuz", "float8_e5m2fnuz", FLOAT_KIND)
define_dtype(Float8_e4m3fnuz, "Float8_e4m3fnuz", "float8_e4m3fnuz", FLOAT_KIND)
define_dtype(Float8_e8m0fnu, "Float8_e8m0fnu", "float8_e8m0fnu", FLOAT_KIND)
REAL_TYPE[<int>ComplexFloat], REAL_TYPE[<int>ComplexDouble] = Float, Double
COMPLEX_TYPE[<int>ComplexFloat] = COMPLEX_TYPE[<int>Float] = COMPLEX_TYPE[<int>BFloat16] = ComplexFloat
COMPLEX_TYPE[<int>ComplexDouble] = COMPLEX_TYPE[<int>Double] = ComplexDouble


cdef ScalarType promote_pair(ScalarType a, ScalarType b) noexcept:
    """The rule behind the table: the higher kind wins; inside a kind the wider, or the next that holds both."""
    cdef ScalarType swap
    if a == b:
        return a
    if KIND[<int>a] < KIND[<int>b]:
        swap = a
        a = b
        b = swap
    if a > Undefined or b > Undefined:                 # rare ones join floats, at most
        return a if KIND[<int>a] == FLOAT_KIND and KIND[<int>b] == INT_KIND and not is_float8(a) else Undefined
    if KIND[<int>a] == COMPLEX_KIND:
        return ComplexDouble if b == Double or b == ComplexDouble else a
    if KIND[<int>b] < KIND[<int>a]:
        return a
    if KIND[<int>a] == FLOAT_KIND and ITEMSIZE[<int>a] == ITEMSIZE[<int>b]:
        return Float                                   # float16 with bfloat16
    if KIND[<int>a] == INT_KIND and ITEMSIZE[<int>a] == ITEMSIZE[<int>b]:
        return Short                                   # uint8 with int8
    return a if ITEMSIZE[<int>a] > ITEMSIZE[<int>b] else b


def _fill_promotion_table():
    cdef int a, b
    for a in range(NUM_SCALAR_TYPES):
        for b in range(NUM_SCALAR_TYPES):
            if DTYPES[a] is None or DTYPES[b] is None:
                PROMOTION_TABLE[a][b] = Undefined
            else:
                PROMOTION_TABLE[a][b] = promote_pair(<ScalarType>a, <ScalarType>b)


_fill_promotion_table()


cdef ScalarType promote_types(ScalarType a, ScalarType b) except? Undefined nogil:
    cdef ScalarType promoted = PROMOTION_TABLE[<int>a][<int>b]
    if promoted == Undefined:
        with gil:
            raise_no_promotion(a, b)
    return promoted


cdef int raise_no_promotion(ScalarType a, ScalarType b) except -1:
    which = "Float8 Types" if is_float8(a) or is_float8(b) else "uint16, uint32, uint64 types"
    raise RuntimeError(
        f"Promotion for {which} is not supported, attempted to promote {SCALAR_TYPE_NAMES[a]} and "
        f"{SCALAR_TYPE_NAMES[b]}")


cdef bint can_cast(ScalarType source, ScalarType target) noexcept nogil:
    # Between integer dtypes of any width, and from signed to unsigned, casting is allowed; only a kind may not drop.
    return KIND[<int>source] <= KIND[<int>target]


cdef ScalarType default_dtype() noexcept nogil:
    return DEFAULT_DTYPE


cdef ScalarType default_complex_dtype() noexcept nogil:
    return COMPLEX_TYPE[<int>DEFAULT_DTYPE] if COMPLEX_TYPE[<int>DEFAULT_DTYPE] != Undefined else ComplexFloat


cdef ScalarType to_scalar_type(object dtype_or_none, ScalarType otherwise) except *:
    if dtype_or_none is None:
        return otherwise
    if isinstance(dtype_or_none, dtype):
        return (<dtype>dtype_or_none).code
    return python_to_scalar_type(dtype_or_none)


cdef ScalarType python_to_scalar_type(object python_type) except *:
    """torch takes Python's own number types for dtypes."""
    if python_type is float:
        return Double
    if python_type is int:
        return Long
    if python_type is bool:
        return Bool
    if python_type is complex:
        return ComplexDouble
    raise TypeError(f"dtype must be torch.dtype, not {type(python_type).__name__}")


cdef str dtype_name(ScalarType code):
    return SCALAR_TYPE_NAMES[code]


cdef ScalarType numpy_to_scalar_type(object numpy_dtype) except *:
    """The dtype of an array's elements. TypeError for those that tensors do not have."""
    code = NUMPY_TO_SCALAR_TYPE.get(numpy_dtype)
    if code is None:
        raise TypeError(
            f"can't convert np.ndarray of type {qualified_type_name(numpy_dtype.type)}. The only supported types are: "
            "float64, "
            "float32, float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool.")
    return <ScalarType><int>code


cdef str qualified_type_name(object cls):
    return f"{cls.__module__}.{cls.__name__}"


NUMPY_TO_SCALAR_TYPE = {instance.numpy_dtype: instance.code for instance in DTYPES if instance is not None}


# The functions of the torch namespace that are about dtypes.

def set_default_dtype(d, /):
    """Set the dtype of new floating-point tensors and of results of true divisions; float32 at first.

    Arguments:
        d: a dtype of floating point numbers

    Example:
        >>> torch.set_default_dtype(torch.float64)
        >>> torch.tensor(0.5).dtype
        torch.float64
        >>> torch.set_default_dtype(torch.float32)
    """
    global DEFAULT_DTYPE
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if KIND[<int>(<dtype>d).code] != FLOAT_KIND:
        raise TypeError("only floating-point types are supported as the default type")
    if is_float8((<dtype>d).code):
        raise TypeError(f"couldn't find storage object {SCALAR_TYPE_NAMES[(<dtype>d).code]}Storage")
    DEFAULT_DTYPE = (<dtype>d).code


def get_default_dtype():
    """The dtype set by `set_default_dtype`.

    Example:
        >>> torch.get_default_dtype()
        torch.float32
    """
    return DTYPES[DEFAULT_DTYPE]


def _promote_types(type1, type2):
    """The smallest dtype to which both can be cast without another kind of number: that of a sum of two such tensors.

    TypeError for anything but dtypes.

    Arguments:
        type1: the first dtype
        type2: the second dtype

    Example:
        >>> torch.promote_types(torch.int64, torch.float16)
        torch.float16
    """
    return DTYPES[promote_types(require_dtype_argument(type1, "promote_types", "type1", 1),
                                require_dtype_argument(type2, "promote_types", "type2", 2))]


def _can_cast(from_, to):
    """Whether a result of dtype `from_` may be written to a tensor of dtype `to`.

    Not from complex numbers to real ones, from floats to integers, or from numbers to bool. TypeError for anything but
    dtypes.

    Arguments:
        from_: the dtype of the source
        to: the dtype of the destination

    Example:
        >>> torch.can_cast(torch.int32, torch.float32)
        True
        >>> torch.can_cast(torch.float32, torch.int32)
        False
    """
    return can_cast(require_dtype_argument(from_, "can_cast", "from_", 1), require_dtype_argument(to, "can_cast", "to",
                                                                                                  2))


cdef ScalarType require_dtype_argument(object value, str function, str argument, int position) except *:
    if not isinstance(value, dtype):
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, "
                        f"not {type(value).__name__}")
    return (<dtype>value).code
