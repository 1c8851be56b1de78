"""The compiled kernels of the CPU: rows with the column `compiled` run the kernel of their ACLNN call."""
from mindtorch import sim

from cpython.ref cimport PyObject
from libc.float cimport FLT_EPSILON
from libc.stdint cimport int32_t, int64_t
from posix.dlfcn cimport RTLD_LOCAL, RTLD_NOW, dlerror, dlopen, dlsym

from mindtorch._core.operators.operator cimport Argument, opmath
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType, cast_scalar
from mindtorch._core.tensor.tensor cimport TensorBase


# --- the library -----------------------------------------------------------------------------------------------------


cdef extern from "mindtorch/kernels.h" nogil:
    ctypedef struct Kernel:
        pass

    ctypedef struct KernelTensor:
        void *data
        int32_t type
        int32_t rank
        const int64_t *sizes
        const int64_t *strides

    ctypedef struct KernelNumber:
        int32_t kind
        int64_t integer
        double real
        double imaginary

    ctypedef struct KernelInts:
        const int64_t *items
        int64_t count

    ctypedef union KernelValue:
        const void *pointer
        int64_t integer
        double real

    ctypedef struct KernelLibrary:
        const Kernel *(*find)(const char *name) noexcept nogil
        int (*run)(const Kernel *kernel, const KernelValue *values) noexcept nogil
        const char *(*message)() noexcept nogil
        void (*set_threads)(int count) noexcept nogil
        const int32_t *types

    int KERNEL_BAD_VALUES, KERNEL_ABSENT

cdef const KernelLibrary *LIBRARY = NULL
cdef int threads = 0            # of its BLAS; 0: as that decides


cdef int load_library() except -1:
    """The library is opened when a kernel runs for the first time, and its BLAS with the first product."""
    global LIBRARY
    cdef void *handle
    cdef const KernelLibrary *found = NULL
    path = sim.toolkit() / "lib64" / "libmindtorch_kernels.so"
    handle = dlopen(str(path).encode(), RTLD_NOW | RTLD_LOCAL)
    if handle != NULL:
        found = <const KernelLibrary *>dlsym(handle, "mindtorch_kernels")
    if found == NULL:
        raise ImportError(f"the kernels of the CPU cannot be loaded: {dlerror().decode()}")
    sim.name_blas()
    if threads:
        found.set_threads(threads)
    LIBRARY = found
    return 0


def set_blas_threads(int count):
    """How many threads the kernels' BLAS uses, now or when it is loaded."""
    global threads
    threads = count
    if LIBRARY != NULL:
        LIBRARY.set_threads(count)


# --- calls -----------------------------------------------------------------------------------------------------------
# The calls of rows are data, in mindtorch/_cpu/_gen/calls.py. `read_calls` reads an entry when its operator runs for
# the first time, and `run_call` converts the arguments and calls the kernel.


cdef enum:
    MAX_PARAMETERS = 32         # of one call
    MAX_RANK = 8
    FEW_ELEMENTS = 8192         # of all tensors of a call: so many are computed without releasing the GIL

cdef enum Conversion:
    CONSTANT
    TENSOR
    CAST                        # a tensor in the dtype of the second
    EMPTY_OUTPUT                # an output that is not wanted, in the dtype of a tensor
    SCALAR                      # rounded to the dtype of the computation
    OPMATH_SCALAR               # rounded to the opmath dtype
    PLAIN_SCALAR                # not rounded
    INTEGER
    REAL
    INT_ARRAY
    BOOL_ARRAY
    DIMS_OR_ALL                 # the dimensions; all of the second, a tensor, where there are none
    DTYPE_OF
    FIRST_OR_ZERO
    OR_EPSILON                  # an optional float; without it the epsilon of float32, 0 or -1
    OR_ZERO
    OR_MINUS_ONE
    NUM_HEADS_OF

cdef dict CONVERSIONS = {
    "constant": CONSTANT, "tensor": TENSOR, "cast": CAST, "empty_output": EMPTY_OUTPUT, "scalar": SCALAR,
    "opmath_scalar": OPMATH_SCALAR, "plain_scalar": PLAIN_SCALAR, "integer": INTEGER, "real": REAL,
    "int_array": INT_ARRAY, "bool_array": BOOL_ARRAY, "dims_or_all": DIMS_OR_ALL, "dtype_of": DTYPE_OF,
    "first_or_zero": FIRST_OR_ZERO, "or_epsilon": OR_EPSILON, "or_zero": OR_ZERO, "or_minus_one": OR_MINUS_ONE,
    "num_heads_of": NUM_HEADS_OF}

cdef struct Parameter:
    Conversion conversion
    int place                   # index of the argument, which may be a result
    int second
    unsigned int mask           # of a tensor: dtypes that the operator takes, as bits
    bint optional
    bint promoted               # another dtype than that of the computation would be rounded to it first
    bint contiguous             # the operator takes no strides
    KernelValue constant

cdef class CompiledCall:
    cdef const Kernel *kernel
    cdef int condition                  # the call runs where this argument is `value`; -1: always
    cdef object value
    cdef int count
    cdef Parameter parameters[MAX_PARAMETERS]
    cdef list kept                      # texts that constants point to

cdef union Converted:                   # what a KernelValue points to
    KernelTensor tensor
    KernelNumber number
    KernelInts ints

cdef int64_t[MAX_RANK] ALL_DIMS
ALL_DIMS[:] = list(range(MAX_RANK))
cdef int64_t[1] NO_ELEMENTS
cdef int64_t[1] ONE_STEP
NO_ELEMENTS[0], ONE_STEP[0] = 0, 1


cdef int read_calls(CompiledKernel kernel) except -1:
    if LIBRARY == NULL:
        load_library()
    kernel.dtypes, calls = kernel.entry
    kernel.calls = [read_call(place, value, call) for place, value, call in calls]
    return 0


cdef CompiledCall read_call(int condition, object value, tuple encoded):
    cdef CompiledCall call = CompiledCall.__new__(CompiledCall)
    cdef Parameter *parameter
    name, parameters = encoded
    call.condition, call.value, call.kept = condition, value, []
    call.kernel = LIBRARY.find(name.encode())
    if call.kernel == NULL or len(parameters) > MAX_PARAMETERS:
        raise ValueError(f"the kernel library has no {name} of {len(parameters)} parameters")
    for word, *found in parameters:
        parameter = &call.parameters[call.count]
        parameter.conversion = <Conversion><int>CONVERSIONS[word]
        if parameter.conversion == CONSTANT:
            read_constant(call, parameter, found[0])
        else:
            parameter.place, parameter.second = found[:2]
        if parameter.conversion == TENSOR:
            words = found[3].split()
            parameter.mask, parameter.optional = found[2], "optional" in words
            parameter.promoted, parameter.contiguous = "promoted" in words, "contiguous" in words
        call.count += 1
    return call


cdef int read_constant(CompiledCall call, Parameter *parameter, object value) except -1:
    if value is None:
        parameter.constant.pointer = NULL
    elif isinstance(value, bytes):
        call.kept.append(value)
        parameter.constant.pointer = <const char *>value
    elif isinstance(value, float):
        parameter.constant.real = value
    else:
        parameter.constant.integer = value
    return 0


cdef bint run_compiled(CompiledKernel kernel, Argument *arguments, ScalarType dtype) except -1:
    cdef CompiledCall call
    if kernel.calls is None:
        read_calls(kernel)
    if not (kernel.dtypes >> <int>dtype) & 1:
        return False
    for call in kernel.calls:
        if call.condition < 0 or <object>arguments[call.condition].object == call.value:
            return run_call(call, arguments, dtype)
    return False


cdef bint run_call(CompiledCall call, Argument *arguments, ScalarType dtype) except -1:
    cdef KernelValue values[MAX_PARAMETERS]
    cdef Converted converted[MAX_PARAMETERS]
    cdef const Parameter *parameter
    cdef Conversion conversion
    cdef TensorBase tensor
    cdef Argument *argument
    cdef int64_t elements = 0
    cdef int i, status
    for i in range(call.count):
        parameter = &call.parameters[i]
        conversion = parameter.conversion
        if conversion == CONSTANT:
            values[i] = parameter.constant
            continue
        argument = &arguments[parameter.place]
        values[i].pointer = &converted[i]
        if conversion == TENSOR:
            if parameter.optional and argument.object == <PyObject *>None:
                values[i].pointer = NULL
                continue
            tensor = <TensorBase>argument.object
            if not takes(parameter, tensor, dtype):
                return False
            elements += tensor.numel
            describe(&converted[i].tensor, tensor)
        elif conversion == INTEGER:
            values[i].integer = argument.integer
        elif conversion == REAL:
            values[i].real = argument.real
        elif conversion <= EMPTY_OUTPUT:
            tensor = <TensorBase>argument.object
            if conversion == CAST and (tensor.dtype != (<TensorBase>arguments[parameter.second].object).dtype
                                       or tensor.ndim > MAX_RANK):
                return False
            describe(&converted[i].tensor, tensor)
            if conversion == EMPTY_OUTPUT:
                converted[i].tensor.rank = 1
                converted[i].tensor.sizes, converted[i].tensor.strides = NO_ELEMENTS, ONE_STEP
        elif conversion <= PLAIN_SCALAR:
            if argument.scalar == NULL:
                values[i].pointer = NULL
            else:
                convert_scalar(&converted[i].number, argument.scalar, conversion, dtype)
        else:
            convert_attribute(&values[i], &converted[i].ints, parameter, arguments)
    if elements <= FEW_ELEMENTS:
        status = LIBRARY.run(call.kernel, values)
    else:
        with nogil:
            status = LIBRARY.run(call.kernel, values)
    if status == 0:
        return True
    if status == KERNEL_BAD_VALUES or status == KERNEL_ABSENT:
        return False
    raise RuntimeError(LIBRARY.message().decode())


cdef inline bint takes(const Parameter *parameter, TensorBase tensor, ScalarType dtype) noexcept:
    return ((parameter.mask >> <int>tensor.dtype) & 1
            and not (parameter.promoted and tensor.dtype != dtype)
            and not (parameter.contiguous and not tensor.contiguous)
            and tensor.ndim <= MAX_RANK)


cdef inline void describe(KernelTensor *described, TensorBase tensor) noexcept:
    described.data = tensor.data_ptr()
    described.type = LIBRARY.types[<int>tensor.dtype]
    described.rank = tensor.ndim
    described.sizes, described.strides = tensor.sizes, tensor.strides


cdef void convert_scalar(KernelNumber *number, const Scalar *scalar, Conversion conversion, ScalarType dtype) noexcept:
    cdef Scalar value = scalar[0]
    if conversion != PLAIN_SCALAR:
        value = cast_scalar(scalar, dtype if conversion == SCALAR else opmath(dtype))
    number.kind, number.integer, number.real, number.imaginary = value.kind, value.integer, value.real, value.imag


cdef void convert_attribute(KernelValue *value, KernelInts *ints, const Parameter *parameter,
                            Argument *arguments) noexcept:
    cdef Argument *argument = &arguments[parameter.place]
    cdef Conversion conversion = parameter.conversion
    if conversion == DTYPE_OF:
        value.integer = LIBRARY.types[<int>(<TensorBase>argument.object).dtype]
    elif conversion == NUM_HEADS_OF:
        value.integer = (<TensorBase>argument.object).sizes[1]
    elif conversion == OR_EPSILON or conversion == OR_ZERO or conversion == OR_MINUS_ONE:
        if argument.optional_real != NULL:
            value.real = argument.optional_real[0]
        else:
            value.real = FLT_EPSILON if conversion == OR_EPSILON else 0 if conversion == OR_ZERO else -1
    elif conversion == FIRST_OR_ZERO:
        value.integer = argument.ints.sizes[0] if argument.ints.ndim else 0
    elif conversion == DIMS_OR_ALL and argument.ints.ndim == 0:
        ints.items, ints.count = ALL_DIMS, (<TensorBase>arguments[parameter.second].object).ndim
    else:
        ints.items, ints.count = <const int64_t *>argument.ints.sizes, argument.ints.ndim
