"""How the CPU runs an operator: its arguments become NumPy's, and the row's function in mindtorch/_cpu/_gen is called.

Backends of other devices marshal arguments for a C function; this one converts them for a Python function.
"""
import numpy as np

from cpython.ref cimport Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from mindtorch._core.device cimport CPU
from mindtorch._core.dtype cimport is_float8
from mindtorch._core.generator cimport Generator
from mindtorch._core.operator cimport MAX_ARGUMENTS, Argument, Kernel, Operator, find_operator
from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport TensorBase
from mindtorch._core.values cimport as_array
from mindtorch._cpu.arrays cimport (
    arrays, computing, ints_or_none, narrow, number, numpy_dtype, operand, operands, promoted, store_shaped, widened)


cdef enum Conversion:
    ARRAY                   # a tensor in its own dtype
    OPERAND                 # a tensor in the dtype that is computed in
    PROMOTED                # the same, rounded to the dtype that the operands have in common before
    PROMOTED_TENSOR         # the same; a 0-d tensor counts as a number, which is not rounded
    ARRAYS                  # tensors in their own dtypes
    OPERANDS                # tensors in the dtype that is computed in
    NUMBER                  # as an element of the operands' dtype holds it
    EXACT_NUMBER            # as the dtype that is computed in holds it
    INTS                    # a tuple; None where it is empty
    DIMS                    # the same; None where `self` has no dimension
    BOOLS
    OPTIONAL_FLOAT
    GENERATOR
    DTYPE
    INT
    FLOAT
    BOOL
    OBJECT

cdef dict CONVERSIONS = {
    "array": ARRAY, "operand": OPERAND, "promoted": PROMOTED, "promoted_tensor": PROMOTED_TENSOR, "arrays": ARRAYS,
    "operands": OPERANDS, "number": NUMBER, "exact_number": EXACT_NUMBER, "ints": INTS, "dims": DIMS, "bools": BOOLS,
    "optional_float": OPTIONAL_FLOAT, "generator": GENERATOR, "dtype": DTYPE, "int": INT, "float": FLOAT, "bool": BOOL,
    "object": OBJECT}


cdef class NumpyKernel:
    """What the `data` of a CPU kernel points to."""
    cdef object function
    cdef unsigned char conversions[MAX_ARGUMENTS]
    cdef int count                  # arguments, with the results
    cdef int results                # how many of them are results; without any, `self` is written
    cdef unsigned int rare          # dtypes taken beyond the common ones, as bits
    cdef str refusal                # torch's name of the kernel, for the refusal of others
    cdef bint wider                 # a float of 8 bits is computed as a float32

cdef list KEPT = []                 # operators hold bare pointers to them


def store_some(targets, values):
    """Write the results that are asked for."""
    for target, value in zip(targets, values):
        if target is not None:
            target[...] = value


def register(kernels):
    """Give the operators named their functions: entries of KERNELS in mindtorch/_cpu/_gen."""
    cdef NumpyKernel kernel
    cdef Operator op
    cdef int i
    for key, function, conversions, results, rare, refusal, wider in kernels:
        op = find_operator(key)
        kernel = NumpyKernel.__new__(NumpyKernel)
        words = conversions.split()
        kernel.function, kernel.count, kernel.results = function, len(words), results
        for i in range(kernel.count):
            kernel.conversions[i] = <int>CONVERSIONS[words[i]]
        kernel.rare, kernel.refusal, kernel.wider = rare, refusal, wider
        KEPT.append(kernel)
        op.kernels[<int>CPU].data = <PyObject *>kernel
        op.kernels[<int>CPU].call = call_function


cdef int call_function(const Kernel *entry, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    cdef NumpyKernel kernel = <NumpyKernel>entry.data
    cdef ScalarType compute = computing(dtype, kernel.rare, kernel.refusal)
    cdef TensorBase out, wide
    cdef int place
    if kernel.wider:
        place = kernel.count - 1 if kernel.results else 0
        out = <TensorBase>arguments[place].object
        if is_float8(out.dtype):
            wide = widened(out)
            arguments[place].object = <PyObject *>wide
            call(kernel, arguments, dtype, compute)
            return narrow(out, wide)
    return call(kernel, arguments, dtype, compute)


cdef int call(NumpyKernel kernel, Argument *arguments, ScalarType element, ScalarType compute) except -1:
    cdef tuple values = PyTuple_New(kernel.count)
    cdef int i
    with np.errstate(all="ignore"):
        for i in range(kernel.count):
            value = convert(<Conversion>kernel.conversions[i], arguments, i, element, compute)
            Py_INCREF(value)
            PyTuple_SET_ITEM(values, i, value)
        found = kernel.function(*values)
        if found is not None:
            outs = [<object>arguments[i].object for i in range(kernel.count - kernel.results, kernel.count)]
            store_shaped(outs, found)
    return 0


cdef object convert(Conversion conversion, Argument *arguments, int i, ScalarType element, ScalarType compute):
    cdef Argument *argument = &arguments[i]
    cdef object value
    cdef int j
    if conversion <= OPERANDS or conversion == OBJECT or conversion == GENERATOR:
        value = <object>argument.object
        if value is None or conversion == OBJECT:
            return value
        if conversion == ARRAY:
            return as_array(<TensorBase>value)
        if conversion == OPERAND or conversion == PROMOTED_TENSOR and (<TensorBase>value).ndim == 0:
            return operand(<TensorBase>value, compute)
        if conversion <= PROMOTED_TENSOR:
            return promoted(<TensorBase>value, element, compute)
        if conversion == ARRAYS:
            return arrays(<list>value)
        if conversion == OPERANDS:
            return operands(<list>value, compute)
        return (<Generator>value).stream
    if conversion == NUMBER or conversion == EXACT_NUMBER:
        if argument.scalar == NULL:
            return None
        return number(argument.scalar, element if conversion == NUMBER else compute, compute)
    if conversion == DIMS and (<TensorBase>arguments[0].object).ndim == 0:
        return None
    if conversion == INTS or conversion == DIMS:
        return ints_or_none(argument.ints)
    if conversion == BOOLS:
        return [bool(argument.ints.sizes[j]) for j in range(argument.ints.ndim)]
    if conversion == OPTIONAL_FLOAT:
        return None if argument.optional_real == NULL else argument.optional_real[0]
    if conversion == DTYPE:
        return numpy_dtype(<ScalarType>argument.integer)
    if conversion == FLOAT:
        return argument.real
    return argument.integer != 0 if conversion == BOOL else argument.integer
