from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint32_t

from mindtorch._core.autocast cimport resume, suspend
from mindtorch._core.device cimport NPU
from mindtorch._core.modes cimport set_grad_enabled
from mindtorch._core.operator cimport Kernel, Operator, find_operator
from mindtorch._core.recording cimport ints_of
from mindtorch._core.scalar cimport scalar_to
from mindtorch._core.tensor cimport TensorBase, set_version, version_of
from mindtorch._npu.adapt cimport computed, store, store_all


cdef enum Conversion:
    OBJECT                      # a tensor in its own dtype, None, a generator
    COMPUTED                    # a tensor in the dtype that is computed in, halves in float32
    SCALAR
    INTS                        # a tuple
    INT
    FLOAT
    BOOL
    OPTIONAL_FLOAT

cdef dict CONVERSIONS = {
    "object": OBJECT, "computed": COMPUTED, "scalar": SCALAR, "ints": INTS, "int": INT, "float": FLOAT, "bool": BOOL,
    "optional_float": OPTIONAL_FLOAT}


cdef class Decomposition:
    def __init__(self, function, str conversions, int results):
        words = conversions.split()
        self.function, self.count, self.results = function, len(words), results
        for i, word in enumerate(words):
            self.conversions[i] = <int>CONVERSIONS[word]


cdef object convert(Conversion conversion, const Argument *argument, ScalarType dtype):
    if conversion == OBJECT:
        return <object>argument.object
    if conversion == COMPUTED:
        return computed(<TensorBase>argument.object, dtype)
    if conversion == SCALAR:
        return scalar_to(argument.scalar)
    if conversion == INTS:
        return ints_of(argument.ints)
    if conversion == OPTIONAL_FLOAT:
        return None if argument.optional_real == NULL else argument.optional_real[0]
    if conversion == FLOAT:
        return argument.real
    return argument.integer != 0 if conversion == BOOL else argument.integer


cdef int run_decomposition(Decomposition made, Argument *arguments, ScalarType dtype) except -1:
    """Call the function and store what it gives.

    What it calls records no history, and casts nothing: the row's own node stands for all of it, and autocast has seen
    the row's arguments.
    """
    cdef tuple values = PyTuple_New(made.count)
    cdef TensorBase target = <TensorBase>arguments[0].object if made.results == 0 else None
    cdef uint32_t version = 0 if target is None else version_of(target)
    cdef bint recorded
    cdef unsigned int casting
    cdef int i, first = made.count - made.results
    for i in range(made.count):
        value = convert(<Conversion>made.conversions[i], &arguments[i], dtype)
        Py_INCREF(value)
        PyTuple_SET_ITEM(values, i, value)
    recorded, casting = set_grad_enabled(False), suspend()
    try:
        results = made.function(*values)
    finally:
        set_grad_enabled(recorded)
        resume(casting)
    if target is not None:              # it was written to once, as the caller counts it
        set_version(target, version)
        return store(target, results)
    if made.results == 1:
        return store(<TensorBase>arguments[first].object, results)
    return store_all([<object>arguments[i].object for i in range(first, made.count)], results)


cdef int run_kernel(const Kernel *kernel, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    return run_decomposition(<Decomposition>kernel.data, arguments, dtype)


cdef list KEPT = []             # operators hold bare pointers to them


def register():
    """Give the operators that are decomposed on the NPU their kernels."""
    cdef Decomposition made
    cdef Operator op
    from mindtorch._npu._gen import decompositions
    for key, entry in decompositions.KERNELS.items():
        op, made = find_operator(key), Decomposition(*entry)
        KEPT.append(made)
        op.kernels[<int>NPU].data = <void *>made
        op.kernels[<int>NPU].call = run_kernel
