"""The CPU as a backend: memory, copies, kernels, and memory that processes share."""
import numpy as np
import os
import time

from cpython.object cimport Py_EQ, PyObject_RichCompareBool
from cpython.ref cimport PyObject, Py_INCREF, Py_REFCNT
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
cimport cython
from libc.float cimport FLT_EPSILON
from libc.math cimport erf as c_erf, erfc as c_erfc
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
cimport numpy as cnp
from posix.dlfcn cimport RTLD_LOCAL, RTLD_NOW, dlerror, dlopen, dlsym
from posix.mman cimport MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE, mmap, munmap
from posix.stdlib cimport posix_memalign
from posix.unistd cimport close

from mindtorch._cpu import float8

from mindtorch._core.operators.operator cimport (
    MAX_ARGUMENTS, Argument, Kernel, Operator, find_operator, opmath, raise_not_implemented,
)
from mindtorch._core.python.conversion cimport as_array, cast_on_host, scalar_tensor
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, ITEMSIZE, KIND, BFloat16, Bool, Byte, Float, Half, Scalar, ScalarType, Undefined, cast_scalar,
    dtype as torch_dtype, is_float8, scalar_to_python,
)
from mindtorch._core.tensor.generator cimport Generator
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CPU, MAX_DIMS, META, NPU, Backend, Shape, Storage, TensorBase, contiguous_strides, make_tensor,
    require_backend, set_geometry, set_storage,
)


# --- the backend -----------------------------------------------------------------------------------------------------
# Allocation, copies, and the registration of the backend.


cdef enum:
    ALIGNMENT = 64
    ONE_ELEMENT = 16            # bytes of the largest element
    LONG_COPY = 256 * 1024      # copies of at least so many bytes release the GIL
    HUGE = 4 * 1024 * 1024      # memory of so many bytes lies on huge pages, as NumPy's does


cdef extern from *:
    """
    #include <stdint.h>
    #include <sys/mman.h>
    static void advise_huge_pages(void *data, size_t nbytes) {
    #ifdef MADV_HUGEPAGE
        const uintptr_t page = 2 << 20;
        const uintptr_t first = ((uintptr_t)data + page - 1) / page * page;
        const uintptr_t last = ((uintptr_t)data + nbytes) / page * page;
        if (first < last) madvise((void *)first, last - first, MADV_HUGEPAGE);  /* where it fails, pages are small */
    #endif
    }
    """
    void advise_huge_pages(void *data, size_t nbytes)


cdef class CpuStorage(Storage):
    def __dealloc__(self):
        free(self.data if self.owner is None else self.own_data)


cdef Storage allocate(size_t nbytes, int index):
    cdef CpuStorage storage = CpuStorage.__new__(CpuStorage)
    cdef void *data = NULL
    if 0 < nbytes <= ONE_ELEMENT:       # malloc aligns to 16 bytes and is faster
        data = malloc(nbytes)
    elif nbytes and posix_memalign(&data, ALIGNMENT, nbytes):
        data = NULL
    elif nbytes >= HUGE:
        advise_huge_pages(data, nbytes)
    if data == NULL and nbytes:
        raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes.")
    storage.data = <char *>data
    storage.nbytes = nbytes
    storage.device_type = CPU
    return storage


cdef int current_index() except -1:
    return 0


cdef inline void copy_bytes(char *target, const char *source, size_t nbytes) noexcept:
    if nbytes < LONG_COPY:
        memcpy(target, source, nbytes)
    else:
        with nogil:
            memcpy(target, source, nbytes)


cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1:
    if dst.numel == 0:
        return 0
    if dst.dtype == src.dtype and dst.contiguous and src.contiguous and dst.numel == src.numel:
        copy_bytes(dst.data_ptr(), src.data_ptr(), dst.numel * ITEMSIZE[<int>dst.dtype])
        return 0
    if dst.dtype != src.dtype and is_short_float(dst) and is_short_float(src) and convert_floats(dst, src):
        return 0
    array = as_array(src)
    if KIND[<int>src.dtype] == COMPLEX_KIND and KIND[<int>dst.dtype] != COMPLEX_KIND and dst.dtype != Bool:
        array = array.real
    with np.errstate(all="ignore"):
        if src.dtype != dst.dtype and is_float8(src.dtype):
            array = array.astype(np.float32)
        if src.dtype != dst.dtype and is_float8(dst.dtype):
            array = float8.rounded(array.astype(np.float32), as_array(dst).dtype)
        as_array(dst)[...] = array
    return 0


cdef extern from *:
    """
    #include <malloc.h>
    static void keep_freed_memory(void) {
    #ifdef __GLIBC__
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        mallopt(M_TRIM_THRESHOLD, 128 << 20);
    #endif
    }
    """
    void keep_freed_memory()


def register():
    """Register the backend of device type "cpu". mindtorch._backend calls this once."""
    cdef Backend *backend = &BACKENDS[<int>CPU]
    # The C library returns freed memory to the system above limits that grow with what is freed. The pages of a
    # training step would then be new in each step, which costs a tenth of its time.
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ and "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        keep_freed_memory()
    backend.allocate = allocate
    backend.current_index = current_index
    backend.copy = copy
    from mindtorch._cpu import _gen     # its modules import this one
    from mindtorch._cpu._gen.calls import CALLS
    register_kernels(_gen.KERNELS, CALLS)
    backend.ready = True


# --- compiled kernels ------------------------------------------------------------------------------------------------
# Rows with the column `compiled` run the kernel of their ACLNN call, which the simulator's kernel library has.


cdef extern from "mindtorch/kernels.h" nogil:
    ctypedef struct LibraryKernel "Kernel":
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
        const LibraryKernel *(*find)(const char *name) noexcept nogil
        int (*run)(const LibraryKernel *kernel, const KernelValue *values) noexcept nogil
        const char *(*message)() noexcept nogil
        void (*set_threads)(int count) noexcept nogil
        const int32_t *types

    int KERNEL_BAD_VALUES, KERNEL_ABSENT

cdef const KernelLibrary *LIBRARY = NULL
cdef int blas_threads = 0            # of its BLAS; 0: as that decides


cdef int load_library() except -1:
    """The library is opened when a kernel runs for the first time, and its BLAS with the first product."""
    global LIBRARY
    cdef void *handle
    cdef const KernelLibrary *found = NULL
    from mindtorch import sim           # not before: `python -m mindtorch.sim` would find it imported, and warn
    path = sim.toolkit() / "lib64" / "libmindtorch_kernels.so"
    handle = dlopen(str(path).encode(), RTLD_NOW | RTLD_LOCAL)
    if handle != NULL:
        found = <const KernelLibrary *>dlsym(handle, "mindtorch_kernels")
    if found == NULL:
        raise ImportError(f"the kernels of the CPU cannot be loaded: {dlerror().decode()}")
    sim.name_blas()
    if blas_threads:
        found.set_threads(blas_threads)
    LIBRARY = found
    return 0


def set_blas_threads(int count):
    """How many threads the kernels' BLAS uses, now or when it is loaded."""
    global blas_threads
    blas_threads = count
    if LIBRARY != NULL:
        LIBRARY.set_threads(count)


cdef const LibraryKernel *COPY = NULL        # that of aclnnInplaceCopy


cdef inline bint is_short_float(TensorBase tensor) noexcept:
    return tensor.dtype == Float or tensor.dtype == Half or tensor.dtype == BFloat16


cdef bint convert_floats(TensorBase dst, TensorBase src) except -1:
    """Whether the library has copied the elements from one dtype to another. NumPy takes 20 times as long for that."""
    global COPY
    cdef KernelTensor target, source
    cdef KernelValue[2] values
    cdef int status
    if dst.ndim > MAX_RANK or src.ndim > MAX_RANK or dst.storage is src.storage:
        return False
    if LIBRARY == NULL:
        load_library()
    if COPY == NULL:
        COPY = LIBRARY.find(b"aclnnInplaceCopy")
    describe(&target, dst)
    describe(&source, src)
    values[0].pointer, values[1].pointer = &target, &source
    if dst.numel <= FEW_ELEMENTS:
        status = LIBRARY.run(COPY, values)
    else:
        with nogil:
            status = LIBRARY.run(COPY, values)
    return status == 0


# The calls of rows are data, in mindtorch/_cpu/_gen/calls.py. `read_calls` reads an entry when its operator runs for
# the first time, and `run_compiled_call` converts the arguments and calls the kernel.


cdef enum:
    MAX_PARAMETERS = 32         # of one call
    MAX_RANK = 8
    FEW_ELEMENTS = 8192         # of all tensors of a call: so many are computed without releasing the GIL

cdef enum LibraryConversion:
    CONSTANT
    TENSOR
    CAST                        # a tensor in the dtype of the second
    IN_BATCH                    # a tensor; NumPy computes where its batch is not that of the second
    OUT_OR_TEMPORARY            # an output; NumPy computes where it is not wanted
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

cdef dict LIBRARY_CONVERSIONS = {
    "constant": CONSTANT, "absent_tensor": CONSTANT, "tensor": TENSOR, "cast": CAST, "in_batch": IN_BATCH,
    "out_or_temporary": OUT_OR_TEMPORARY, "empty_output": EMPTY_OUTPUT, "scalar": SCALAR,
    "opmath_scalar": OPMATH_SCALAR, "plain_scalar": PLAIN_SCALAR, "integer": INTEGER, "real": REAL,
    "int_array": INT_ARRAY, "bool_array": BOOL_ARRAY, "dims_or_all": DIMS_OR_ALL, "dtype_of": DTYPE_OF,
    "first_or_zero": FIRST_OR_ZERO, "or_epsilon": OR_EPSILON, "or_zero": OR_ZERO, "or_minus_one": OR_MINUS_ONE,
    "num_heads_of": NUM_HEADS_OF}

cdef struct Parameter:
    LibraryConversion conversion
    int place                   # index of the argument, which may be a result
    int second
    unsigned int mask           # of a tensor: dtypes that the operator takes, as bits
    bint optional
    bint promoted               # another dtype than that of the computation would be rounded to it first
    bint contiguous             # the operator takes no strides
    KernelValue constant

cdef class CompiledCall:
    cdef const LibraryKernel *kernel
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


cdef class CompiledKernel:
    cdef tuple entry                    # of mindtorch/_cpu/_gen/calls.py
    cdef unsigned int dtypes            # of the computation, as bits
    cdef list calls                     # None before the first use


cdef int read_calls(CompiledKernel kernel) except -1:
    if LIBRARY == NULL:
        load_library()
    dtypes, calls = kernel.entry
    kernel.dtypes = <int64_t>dtypes
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
        parameter.conversion = <LibraryConversion><int>LIBRARY_CONVERSIONS[word]
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
    """Whether the kernel has computed the results. Otherwise the row's NumPy expression does:

    1. for other dtypes than the row and its call name, for more than 8 dimensions, for a strided tensor where the call
       takes none, and where the library has no kernel for these sizes;
    2. for elements that the kernel refuses, such as an index out of bounds: NumPy's kernel raises torch's error.
    """
    cdef CompiledCall call
    if kernel.calls is None:
        read_calls(kernel)
    if not (kernel.dtypes >> <int>dtype) & 1:
        return False
    for call in kernel.calls:
        if call.condition < 0 or PyObject_RichCompareBool(
                <object>arguments[call.condition].object, call.value, Py_EQ):
            return run_compiled_call(call, arguments, dtype)
    return False


cdef bint run_compiled_call(CompiledCall call, Argument *arguments, ScalarType dtype) except -1:
    cdef KernelValue values[MAX_PARAMETERS]
    cdef Converted converted[MAX_PARAMETERS]
    cdef const Parameter *parameter
    cdef LibraryConversion conversion
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
            if conversion == OUT_OR_TEMPORARY and argument.object == <PyObject *>None:
                return False
            tensor = <TensorBase>argument.object
            if conversion == IN_BATCH and not share_batch(tensor, <TensorBase>arguments[parameter.second].object):
                return False
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


cdef inline bint share_batch(TensorBase matrices, TensorBase other) noexcept:
    cdef int i
    if matrices.ndim != other.ndim or matrices.ndim > MAX_RANK:
        return False
    for i in range(matrices.ndim - 2):
        if matrices.sizes[i] != other.sizes[i]:
            return False
    return True


cdef inline void describe(KernelTensor *described, TensorBase tensor) noexcept:
    described.data = tensor.data_ptr()
    described.type = LIBRARY.types[<int>tensor.dtype]
    described.rank = tensor.ndim
    described.sizes, described.strides = tensor.sizes, tensor.strides


cdef void convert_scalar(KernelNumber *number, const Scalar *scalar, LibraryConversion conversion,
                         ScalarType dtype) noexcept:
    cdef Scalar value = scalar[0]
    if conversion != PLAIN_SCALAR:
        value = cast_scalar(scalar, dtype if conversion == SCALAR else opmath(dtype))
    number.kind, number.integer, number.real, number.imaginary = value.kind, value.integer, value.real, value.imag


cdef void convert_attribute(KernelValue *value, KernelInts *ints, const Parameter *parameter,
                            Argument *arguments) noexcept:
    cdef Argument *argument = &arguments[parameter.place]
    cdef LibraryConversion conversion = parameter.conversion
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


# --- kernels ---------------------------------------------------------------------------------------------------------
# The kernel of a row is a generated Python function in mindtorch/_cpu/_gen. `call_function` converts the operator's
# arguments to NumPy's and calls it.


cdef enum Conversion:
    ARRAY                   # a tensor in its own dtype
    OPERAND                 # a tensor in the dtype of the computation (opmath)
    PROMOTED                # the same, rounded to the operator's dtype first
    PROMOTED_TENSOR         # the same; a 0-d tensor is not rounded
    ARRAYS                  # a list of tensors in their own dtypes
    OPERANDS                # a list of tensors in the dtype of the computation
    NUMBER                  # a number rounded to the operator's dtype
    EXACT_NUMBER            # a number in the dtype of the computation
    INTS                    # a tuple; None if it is empty
    DIMS                    # the same; also None if `self` is 0-d
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
    """The `data` of a CPU kernel."""
    cdef CompiledKernel compiled        # what runs where it can; None if the row has none
    cdef object function
    cdef unsigned char conversions[MAX_ARGUMENTS]
    cdef int count                  # number of arguments and results
    cdef int results                # number of results; at 0, the kernel writes to `self`
    cdef unsigned int rare_dtypes          # rare dtypes that the kernel supports, as bits
    cdef str kernel_name                # torch's name of the kernel, for the error of other rare dtypes
    cdef bint float8_as_float                 # 8-bit floats are computed as float32

cdef list REGISTERED = []                 # kernels, which operators have C pointers to


def store_some(targets, values):
    """Write the values to the targets that are not None."""
    for target, value in zip(targets, values):
        if target is not None:
            target[...] = value


def register_kernels(kernels, calls):
    """Register the kernels of operators: KERNELS of mindtorch/_cpu/_gen, and CALLS for those that are compiled."""
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
        kernel.rare_dtypes, kernel.kernel_name, kernel.float8_as_float = <int64_t>rare, refusal, wider
        if key in calls:
            kernel.compiled = CompiledKernel.__new__(CompiledKernel)
            kernel.compiled.entry = calls[key]
        REGISTERED.append(kernel)
        op.kernels[<int>CPU].data = <PyObject *>kernel
        op.kernels[<int>CPU].call = call_function


cdef int call_function(const Kernel *entry, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    cdef NumpyKernel kernel = <NumpyKernel>entry.data
    cdef ScalarType compute
    cdef TensorBase out, wide
    cdef int out_index
    if kernel.compiled is not None and run_compiled(kernel.compiled, arguments, dtype):
        return 0
    compute = compute_dtype(dtype, kernel.rare_dtypes, kernel.kernel_name)
    if kernel.float8_as_float:
        out_index = kernel.count - 1 if kernel.results else 0
        out = <TensorBase>arguments[out_index].object
        if is_float8(out.dtype):
            wide = cast_on_host(out, Float)
            arguments[out_index].object = <PyObject *>wide
            call_kernel(kernel, arguments, dtype, compute)
            return BACKENDS[<int>CPU].copy(out, wide, False)
    return call_kernel(kernel, arguments, dtype, compute)


cdef int call_kernel(NumpyKernel kernel, Argument *arguments, ScalarType element, ScalarType compute) except -1:
    cdef tuple values = PyTuple_New(kernel.count)
    cdef int i
    with np.errstate(all="ignore"):
        for i in range(kernel.count):
            value = convert(<Conversion>kernel.conversions[i], arguments, i, element, compute)
            Py_INCREF(value)
            PyTuple_SET_ITEM(values, i, value)
        found = call_numpy(kernel.function, values)
        if found is not None:
            outs = [<object>arguments[i].object for i in range(kernel.count - kernel.results, kernel.count)]
            store_resized(outs, found)
    return 0


# NumPy's BLAS ends its threads before a fork: a product under way in another thread would never end, in the parent or
# in the child. So a fork waits for the calls of NumPy that run, and new ones wait for the fork. The GIL guards both
# counts.
cdef extern from *:
    """static _Thread_local int mindtorch_numpy_depth;"""
    int mindtorch_numpy_depth           # nested calls of this thread

cdef int calls_under_way = 0
cdef int pending_forks = 0


cdef object call_numpy(object function, tuple values):
    global calls_under_way, mindtorch_numpy_depth
    while pending_forks and not mindtorch_numpy_depth:
        time.sleep(0.001)               # releases the GIL
    calls_under_way += 1
    mindtorch_numpy_depth += 1
    try:
        return function(*values)
    finally:
        mindtorch_numpy_depth -= 1
        calls_under_way -= 1


def _wait_for_calls():
    global pending_forks
    pending_forks += 1
    while calls_under_way:
        time.sleep(0.001)


def _after_fork_in_parent():
    global pending_forks
    pending_forks -= 1


def _after_fork_in_child():
    global pending_forks
    pending_forks = 0


os.register_at_fork(before=_wait_for_calls, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


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
            return as_operand(<TensorBase>value, compute)
        if conversion <= PROMOTED_TENSOR:
            return as_promoted(<TensorBase>value, element, compute)
        if conversion == ARRAYS:
            return as_arrays(<list>value)
        if conversion == OPERANDS:
            return as_operands(<list>value, compute)
        return (<Generator>value).engine
    if conversion == NUMBER or conversion == EXACT_NUMBER:
        if argument.scalar == NULL:
            return None
        return numpy_scalar(argument.scalar, element if conversion == NUMBER else compute, compute)
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


# --- arrays ----------------------------------------------------------------------------------------------------------

cdef ScalarType compute_dtype(ScalarType dtype, unsigned int taken, str kernel) except? Undefined:
    """The dtype that a kernel computes in. NotImplementedError for a rare dtype that is not in `taken`."""
    if dtype > Undefined and not (taken >> <int>dtype) & 1:
        raise_not_implemented(kernel, dtype)
    return opmath(dtype)


cdef int store_resized(list outputs, object values) except -1:
    """Give the outputs the shapes of the values, and write these."""
    cdef TensorBase out
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int i
    for out, value in zip(outputs, values):
        for i in range(value.ndim):
            sizes[i] = value.shape[i]
        contiguous_strides(value.ndim, sizes, strides)
        set_geometry(out, value.ndim, sizes, strides, out.offset)
        as_array(out)[...] = value
    return 0


cdef object numpy_dtype(ScalarType dtype):
    return (<torch_dtype>DTYPES[<int>dtype]).numpy_dtype


cdef object as_operand(TensorBase tensor, ScalarType dtype):
    array = as_array(tensor)
    return array if tensor.dtype == dtype else array.astype(numpy_dtype(dtype))


cdef object as_promoted(TensorBase tensor, ScalarType element, ScalarType dtype):
    """As as_operand, after rounding to the dtype `element`."""
    return as_operand(cast_on_host(tensor, element), dtype)


cdef list as_operands(list tensors, ScalarType dtype):
    cdef TensorBase tensor
    return [as_operand(tensor, dtype) for tensor in tensors]


cdef list as_arrays(list tensors):
    return [None if tensor is None else as_array(<TensorBase>tensor) for tensor in tensors]


cdef object numpy_scalar(const Scalar *scalar, ScalarType element, ScalarType dtype):
    """A NumPy scalar of `dtype`, after a cast to the dtype `element`."""
    cdef Scalar value = cast_scalar(scalar, element)
    if is_float8(element):
        return as_operand(scalar_tensor(&value, element), dtype)[()]
    return np.asarray(scalar_to_python(&value)).astype(numpy_dtype(dtype))[()]


cdef object ints_or_none(const Shape *values):
    cdef int i
    return tuple([values.sizes[i] for i in range(values.ndim)]) if values.ndim else None


# --- functions of the C library --------------------------------------------------------------------------------------
# NumPy lacks erf and erfc. Here they are ufuncs of float32 and float64.


cdef extern from "<math.h>" nogil:
    float erff(float)
    float erfcf(float)


cnp.import_array()
cnp.import_ufunc()

# The ufuncs have pointers to these arrays.
cdef cnp.PyUFuncGenericFunction LOOPS[2]
cdef char TYPES[4]
cdef void *ERF[2]
cdef void *ERFC[2]
LOOPS[:] = [cnp.PyUFunc_f_f, cnp.PyUFunc_d_d]
TYPES[:] = [cnp.NPY_FLOAT, cnp.NPY_FLOAT, cnp.NPY_DOUBLE, cnp.NPY_DOUBLE]
ERF[:] = [<void *>erff, <void *>c_erf]
ERFC[:] = [<void *>erfcf, <void *>c_erfc]


cdef object unary_ufunc(const char *name, void **functions):
    return cnp.PyUFunc_FromFuncAndData(LOOPS, functions, TYPES, 2, 1, 1, cnp.PyUFunc_None, name, NULL, 0)


erf = unary_ufunc("erf", ERF)
erfc = unary_ufunc("erfc", ERFC)


# --- memory shared between processes ---------------------------------------------------------------------------------
# Shared memory is an anonymous file (memfd), which several processes map.
#
# 1. The system frees the file with its last mapping and descriptor. So no process has to clean up after one that was
#    killed.
# 2. New pages are several times slower than writing to them. So a process caches the files that it has created. A file
#    begins with the number of its users, which are storages of all processes; at 0 the file may be reused.
# 3. A fork doubles storages without counting them. So a storage from before a fork never decrements the count: its file
#    is never reused.


cdef extern from *:
    """
    #include <stdint.h>
    static inline int32_t add_user(int32_t *users, int32_t count) {
        return __atomic_add_fetch(users, count, __ATOMIC_ACQ_REL);
    }
    """
    int32_t add_user(int32_t *users, int32_t count) noexcept

cdef extern from "<sys/mman.h>" nogil:
    int MAP_POPULATE

cdef enum:
    HEADER_BYTES = 64                     # bytes before the content: the number of users, and padding
    MAX_FILES = 64                       # the most files that are cached
    IDLE_BYTES = 64 * 1024 * 1024   # of unused files that are cached; more if more bytes are in use

cdef list FILES = []                # the cached files of this process, oldest first
cdef int forks = 0


@cython.final
@cython.no_gc
cdef class File:
    """A mapped file that this process has created."""
    cdef int descriptor
    cdef char *address
    cdef size_t capacity            # bytes of content

    def __cinit__(self, size_t capacity):
        self.descriptor = -1
        self.descriptor = os.memfd_create("mindtorch-shared")
        self.capacity = capacity
        os.ftruncate(self.descriptor, HEADER_BYTES + capacity)
        self.address = map_shared(self.descriptor, HEADER_BYTES + capacity)

    def __dealloc__(self):
        if self.address != NULL:
            munmap(self.address, HEADER_BYTES + self.capacity)
        if self.descriptor >= 0:
            close(self.descriptor)

    cdef int32_t users(self) noexcept:
        return add_user(<int32_t *>self.address, 0)


@cython.final
@cython.no_gc
cdef class SharedStorage(Storage):
    cdef File file                  # None if another process has created the file
    cdef int forks                  # number of forks when the storage was created

    def resizable(self):
        return False

    def __dealloc__(self):
        if self.data == NULL:           # the constructor has failed
            return
        if self.forks == forks:
            add_user(<int32_t *>(self.data - HEADER_BYTES), -1)
        if self.file is None:
            munmap(self.data - HEADER_BYTES, HEADER_BYTES + self.nbytes)


cdef char *map_shared(int descriptor, size_t nbytes) except NULL:
    cdef void *address
    with nogil:
        # MAP_POPULATE: mapping all pages at once is faster than a page fault for each.
        address = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0)
    if address == MAP_FAILED:
        raise MemoryError(f"cannot map {nbytes} bytes of shared memory")
    return <char *>address


cdef TensorBase tensor_from_file(char *address, size_t nbytes, File file):
    """A tensor of bytes on a file; the caller has incremented the number of users."""
    cdef SharedStorage storage = SharedStorage.__new__(SharedStorage)
    cdef int64_t count = nbytes
    require_backend(CPU)
    storage.file = file
    storage.forks = forks
    storage.data = address + HEADER_BYTES
    storage.nbytes = nbytes
    storage.device_type = CPU
    return make_tensor(storage, Byte, 1, &count, NULL, 0)


cdef File find_free_file(size_t capacity):
    """A cached file of that capacity without users, or None. Surplus files leave the cache."""
    cdef File file, found = None
    cdef size_t used = 0, idle = 0
    del FILES[:max(0, len(FILES) - MAX_FILES)]
    for file in FILES:
        if file.users() != 0:
            used += file.capacity
        elif found is None and file.capacity == capacity:
            found = file
        else:
            idle += file.capacity
    for file in list(FILES) if idle > max(used, <size_t>IDLE_BYTES) else ():
        if file is not found and file.users() == 0:
            FILES.remove(file)
    return found


def allocate_shared(size_t nbytes):
    """`nbytes` (not 0) of uninitialised shared memory as a tensor of bytes. OSError if the system has no more."""
    # Eight sizes between two powers of two, so that batches of slightly different size reuse files.
    cdef size_t step = max(4096, 1 << max(0, (nbytes - 1).bit_length() - 4))
    cdef size_t capacity = (nbytes + step - 1) // step * step
    cdef File file = find_free_file(capacity)
    if file is None:
        file = File(capacity)
        FILES.append(file)
    add_user(<int32_t *>file.address, 1)
    return tensor_from_file(file.address, nbytes, file)


def attach(int descriptor, size_t nbytes):
    """A tensor of bytes on a file that another process has lent. The caller closes the descriptor."""
    if os.fstat(descriptor).st_size < <int64_t>(HEADER_BYTES + nbytes):
        raise ValueError(f"the file of descriptor {descriptor} has less than {nbytes} bytes")
    return tensor_from_file(map_shared(descriptor, HEADER_BYTES + nbytes), nbytes, None)


def descriptor_of(storage, size_t address, size_t nbytes):
    """The descriptor of the file whose content is these bytes, for one call of `attach`; -1 for any other memory."""
    cdef SharedStorage shared = shared_storage_of(storage)
    if shared is None or shared.file is None or <size_t>shared.data != address or shared.nbytes != nbytes:
        return -1
    add_user(<int32_t *>(shared.data - HEADER_BYTES), 1)
    return shared.file.descriptor


def as_byte_tensor(storage):
    """All of `storage` as a tensor of bytes; None if it is no shared memory."""
    cdef int64_t count
    cdef SharedStorage shared = shared_storage_of(storage)
    if shared is None:
        return None
    count = shared.nbytes
    return make_tensor(shared, Byte, 1, &count, NULL, 0)


def byte_tensor_of(TensorBase tensor not None):
    """The storage of a tensor as a tensor of bytes; None if it is no shared memory."""
    return as_byte_tensor(tensor.storage)


cdef SharedStorage shared_storage_of(storage):
    """The SharedStorage that a storage is or has moved to, or None."""
    if isinstance(storage, SharedStorage):
        return storage
    if isinstance(storage, Storage) and isinstance((<Storage>storage).owner, SharedStorage):
        return <SharedStorage>(<Storage>storage).owner
    return None


def is_shared(TensorBase self):
    """Whether processes can share the tensor's memory: after share_memory_, in batches of workers, on an NPU."""
    return self.device_type == NPU or shared_storage_of(self.storage) is not None


def share_memory_(TensorBase self not None):
    """Move the tensor's storage, with all its views, to shared memory. Tensors on an NPU stay as they are."""
    cdef Storage storage = self.storage
    cdef Storage shared
    if self.device_type == META:
        raise RuntimeError("_share_fd_: only available on CPU")
    if self.device_type != CPU or shared_storage_of(storage) is not None:
        return self
    shared = (<TensorBase>allocate_shared(max(storage.nbytes, 1))).storage
    if storage.nbytes:
        memcpy(shared.data, storage.data, storage.nbytes)
    shared.version = storage.version
    if Py_REFCNT(storage) == 2:         # the tensor's reference, and that of this function
        shared.nbytes = storage.nbytes
        set_storage(self, shared, self.dtype)
        return self
    storage.own_data, storage.data = storage.data, shared.data
    storage.owner = shared
    return self


def _before_fork():
    global forks
    forks += 1


os.register_at_fork(before=_before_fork, after_in_child=FILES.clear)
