"""Functions that make tensors: from sizes, numbers, random numbers, and Python data."""
import warnings

import numpy

from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.ref cimport PyObject
from cpython.sequence cimport PySequence_Check, PySequence_Fast
from libc.math cimport ceil, isfinite
from libc.stdint cimport int64_t

from mindtorch._core import hooks
from mindtorch._core.formats import require_strided, strided
from mindtorch._core.tensor.tensor import get_default_device

from mindtorch._core._gen.calls cimport op_normal_, op_random__from, op_uniform_
from mindtorch._core.autograd.history cimport should_record
from mindtorch._core.autograd.node cimport requires_grad as needs_gradient
from mindtorch._core.operators.operator cimport (
    ONE, Argument, Operator, find_operator, raise_not_implemented, require_kernel, run_kernel, write_back_out,
)
from mindtorch._core.python.conversion cimport (
    as_int, cast_on_host, check_scalar_overflow, from_array, parse_list, parse_varargs, raise_no_overload,
    raise_overflow, read_scalar, require_bool, require_device, require_dtype, require_int, require_scalar,
    require_tensor, storable_dtype, store_element,
)
from mindtorch._core.rules.infer cimport check_output, output_or_temporary, resize, scalar_dtype
from mindtorch._core.tensor.copy_cast cimport to_copy
cimport mindtorch._core.tensor.copy_cast as copy_cast
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, FLOAT_KIND, INT_KIND, ITEMSIZE, KIND, Bool, Byte, Char, Int, Long, Scalar, ScalarType, Short,
    UInt16, UInt32, UInt64, Undefined, cast_scalar, default_complex_dtype, default_dtype, dtype_name,
    numpy_to_scalar_type, promote_types, scalar_from_python,
)
from mindtorch._core.tensor.generator cimport generator_for, require_generator
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CPU, MAX_DIMS, META, Shape, TensorBase, check_pinnable, checked_numel, empty_like_tensor,
    empty_pinned_like, empty_tensor, has_shape, make_device, make_size, make_view, shape_list, shape_text,
)
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch


# --- constants of decompositions -------------------------------------------------------------------------------------
# Tables of numbers that decompositions use: copied to the device once, and kept there until empty_cache.
#
# A kept table was written on the stream that was current then. So tables are kept only while all work is on one stream:
# where a process uses several, or a graph is captured, each use copies the table anew.


cdef dict CONSTANTS = {}             # (make, key, dtype, device) -> Tensor


def cached_constant(TensorBase like not None, make, *key):
    """The numbers of make(*key) in the dtype and on the device of `like`; read only."""
    cdef int device = like.device_type
    cdef bint one_stream = not BACKENDS[device].streams
    if one_stream and BACKENDS[device].capturing != NULL:
        one_stream = not BACKENDS[device].capturing(like.device_index)
    if not one_stream:
        return like.new_tensor(make(*key))
    cache_key = make, key, like.dtype, device, like.device_index
    found = CONSTANTS.get(cache_key)
    if found is None:
        found = CONSTANTS[cache_key] = like.new_tensor(make(*key))
    return found


def clear_constants():
    """Free all tables."""
    CONSTANTS.clear()


# --- torch.tensor ----------------------------------------------------------------------------------------------------
# It reads numbers, nested sequences of them, and arrays.


cdef type NUMPY_SCALAR = numpy.generic
cdef type NUMPY_ARRAY = numpy.ndarray


cdef inline bint is_number(object value):
    return (PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value) or isinstance(value, NUMPY_SCALAR)
            or (isinstance(value, TensorBase) and (<TensorBase>value).ndim == 0))


cdef inline bint is_text(object value):
    return isinstance(value, (str, bytes))


cdef int compute_sizes(object data, Shape *shape) except -1:
    """The shape by the first element of each list; `recursive_store` checks the others. A tensor counts as a number."""
    shape.ndim = 0
    while not is_number(data) and PySequence_Check(data) and not is_text(data) and not isinstance(data, TensorBase):
        if shape.ndim == MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        shape.sizes[shape.ndim] = len(data)
        shape.ndim += 1
        if shape.sizes[shape.ndim - 1] == 0:
            break
        data = data[0]
    if is_text(data):
        if shape.ndim == 0 or not isinstance(data, str):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return 0


cdef ScalarType number_scalar_type(object number) except *:
    if PyFloat_Check(number) and not isinstance(number, NUMPY_SCALAR):
        return default_dtype()
    if PyBool_Check(number):
        return Bool
    if PyLong_Check(number):
        return Long
    if PyComplex_Check(number) and not isinstance(number, NUMPY_SCALAR):
        return default_complex_dtype()
    if isinstance(number, TensorBase):
        return (<TensorBase>number).dtype
    return numpy_to_scalar_type(number.dtype)


cdef ScalarType infer_scalar_type(object data, int depth=0) except *:
    """The dtype that all elements have in common. Lists may contain themselves, which ends at MAX_DIMS."""
    cdef ScalarType found = Undefined, other
    if is_number(data):
        return number_scalar_type(data)
    if isinstance(data, NUMPY_ARRAY):
        return numpy_to_scalar_type(data.dtype)
    if isinstance(data, TensorBase):
        return (<TensorBase>data).dtype
    if is_text(data):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not PySequence_Check(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if depth > MAX_DIMS:
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    for element in data:
        if element is data:
            raise TypeError("new(): self-referential lists are incompatible")
        other = infer_scalar_type(element, depth + 1)
        found = other if found == Undefined else promote_types(found, other)
    return default_dtype() if found == Undefined else found


cdef int element_to_scalar(object element, ScalarType dtype, Scalar *out) except -1:
    if isinstance(element, TensorBase):
        if (<TensorBase>element).numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return read_scalar(<TensorBase>element, out)
    if not is_number(element):
        name = type(element).__name__
        raise TypeError(f"must be real number, not {name}" if KIND[<int>dtype] >= FLOAT_KIND else
                        f"'{name}' object cannot be interpreted as an integer")
    if dtype == UInt64:
        return uint64_to_scalar(element, out)
    if PyLong_Check(element) and not PyBool_Check(element):
        if dtype == Bool:
            element = element != 0
        elif KIND[<int>dtype] >= FLOAT_KIND:
            element = float(element)
        else:
            as_int(element)            # refuses what 64 bits with a sign do not hold; scalar_from_python would wrap it
    scalar_from_python(element, out)
    if out.kind == COMPLEX_KIND and KIND[<int>dtype] != COMPLEX_KIND and dtype != Bool:
        raise TypeError("must be real number, not complex" if KIND[<int>dtype] == FLOAT_KIND else
                        "'complex' object cannot be interpreted as an integer")
    return 0


cdef int uint64_to_scalar(object element, Scalar *out) except -1:
    if isinstance(element, (float, complex)) or isinstance(element, NUMPY_SCALAR):
        raise TypeError("an integer is required")
    if element < 0:
        raise OverflowError("can't convert negative int to unsigned")
    return scalar_from_python(element, out)


cdef bint is_beyond_integers(double value, ScalarType dtype) noexcept:
    """Whether a float is less than the least integer of a dtype or more than the greatest, by a fraction too.

    torch.tensor refuses these. a[i] = value takes what fits without its fraction, and negative bytes, which wrap.
    """
    cdef double count = 2.0 ** (8 * ITEMSIZE[<int>dtype])
    cdef double least = -count / 2.0 if dtype in (Char, Short, Int) else 0.0
    return KIND[<int>dtype] == INT_KIND and ITEMSIZE[<int>dtype] < 8 and not least <= value <= least + count - 1.0


cdef int recursive_store(object data, TensorBase target, char **address, int dim) except -1:
    """Write `data`, the part at dimension `dim`, from `address` on; elements lie one after the other."""
    cdef Scalar number
    cdef int64_t length
    if dim == target.ndim:
        element_to_scalar(data, target.dtype, &number)
        try:
            if number.kind == FLOAT_KIND and is_beyond_integers(number.real, target.dtype):
                raise_overflow(target.dtype)
            store_element(address[0], target.dtype, &number)
        except RuntimeError:          # torch.tensor calls the dtype by another name than a[i] = value does
            name = DTYPES[<int>target.dtype].name
            raise RuntimeError(f"value cannot be converted to type {name} without overflow") from None
        address[0] += ITEMSIZE[<int>target.dtype]
        return 0
    if is_number(data) or is_text(data) or not PySequence_Check(data):
        raise TypeError("not a sequence")
    length = len(data)
    if length != target.sizes[dim]:
        raise ValueError(f"expected sequence of length {target.sizes[dim]} at dim {dim} (got {length})")
    for element in PySequence_Fast(data, "not a sequence"):
        recursive_store(element, target, address, dim + 1)
    return 0


cdef bint is_storage(object data):
    from mindtorch._core.tensor.attributes import StorageBase
    return isinstance(data, StorageBase)


cdef TensorBase new_from_data(object data, ScalarType dtype):
    """A new CPU tensor, never sharing memory; dtype Undefined: inferred as torch does."""
    cdef Shape shape
    cdef TensorBase result
    cdef char *address
    if not isinstance(data, (list, tuple)) and not is_number(data) and is_storage(data):
        return data.elements(DTYPES[<int>(Long if dtype == Undefined else dtype)]).clone()
    if isinstance(data, NUMPY_SCALAR):
        data = numpy.asarray(data)
    if isinstance(data, NUMPY_ARRAY):
        result = from_array(data)
        return to_copy(result, result.dtype if dtype == Undefined else dtype, CPU, 0, False, True)
    if hasattr(data, "__array__") and not isinstance(data, TensorBase):
        return new_from_data(data.__array__(), dtype)
    compute_sizes(data, &shape)
    if dtype == Undefined:
        dtype = infer_scalar_type(data)
    elif not is_number(data) and not PySequence_Check(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    result = empty_tensor(&shape, storable_dtype(dtype), CPU, 0)
    address = result.data_ptr()
    recursive_store(data, result, &address, 0)
    return cast_on_host(result, dtype)


def tensor_from_data(data, dtype, device, pin_memory, str function):
    """torch.tensor without its warning: a new tensor from `data`, on `device`."""
    cdef bytes name = function.encode()
    cdef int device_type, device_index
    cdef ScalarType code = require_dtype(dtype, Undefined, name, b"dtype")
    cdef TensorBase made
    if isinstance(data, TensorBase):
        made = <TensorBase>data
        if device is None:
            device_type, device_index = made.device_type, made.device_index
        else:
            require_device(device, &device_type, &device_index, name)
        return to_copy(made, made.dtype if code == Undefined else code, device_type, device_index, False, True)
    require_device(device, &device_type, &device_index, name)
    made = new_from_data(data, code)
    if pin_memory is not None and require_bool(pin_memory, name, b"pin_memory"):
        check_pinnable(device_type)
        return made.pin_memory()
    return to_copy(made, made.dtype, device_type, device_index, False, False)


# --- from sizes and numbers ------------------------------------------------------------------------------------------
# Their kernels are rows of creation.toml.


cdef Operator ZEROS = find_operator("zeros")
cdef Operator ONES = find_operator("ones")
cdef Operator FULL = find_operator("full")
cdef Operator ARANGE = find_operator("arange.start_step")
cdef Operator LINSPACE = find_operator("linspace")

cdef Scalar ZERO
scalar_from_python(0, &ZERO)


cdef struct TensorOptions:      # the device of a new tensor
    int type
    int index
    bint pinned


cdef bint wants_pinned(object pin_memory, const char *function) except -1:
    return pin_memory is not None and require_bool(pin_memory, function, b"pin_memory")


cdef int parse_options(TensorOptions *options, object layout, object device, object pin_memory,
                       const char *function) except -1:
    if layout is not None:
        require_strided(layout, function.decode())
    options.pinned = wants_pinned(pin_memory, function)
    require_device(device, &options.type, &options.index, function)
    return check_pinnable(options.type) if options.pinned else 0


cdef TensorBase allocate_result(TensorOptions *options, const Shape *shape, ScalarType dtype, object out,
                                object device, bint is_range=False):
    """The tensor to fill: a new one, or `out`, which must be on the device if one is named.

    `out` gets the shape without the warning that operators give, but if it is for a range and has as many elements.
    """
    cdef TensorBase given = out
    if given is None:
        given = output_or_temporary(None, shape, dtype, options.type, options.index)
        return empty_pinned_like(given) if options.pinned else given
    if device is None:
        options.type, options.index = given.device_type, given.device_index
    if not has_shape(given, shape) and not (is_range and given.numel == checked_numel(shape)):
        check_output(given, dtype, options.type, options.index)
        resize(given, shape)
    return output_or_temporary(given, shape, dtype, options.type, options.index)


cdef int parse_size(tuple args, object size, Shape *shape, const char *function) except -1:
    if size is not None:
        return parse_list(size, shape, function, b"size")
    if not args:
        raise TypeError(f'{function.decode()}() missing 1 required positional arguments: "size"')
    return parse_varargs(args, shape, function, b"size")


cdef ScalarType parse_result_dtype(object dtype, object out, ScalarType otherwise, const char *function) except *:
    """The dtype that is given, that of `out`, or `otherwise`."""
    cdef ScalarType code
    if out is None:
        return require_dtype(dtype, otherwise, function, b"dtype")
    code = require_tensor(out, function, b"out").dtype
    if needs_gradient(<TensorBase>out):
        if function in (b"empty", b"randn"):
            raise RuntimeError("cannot resize variables that require grad")
        should_record(<TensorBase>out, f"aten::{function.decode()}")        # refuses out=
    if require_dtype(dtype, code, function, b"dtype") != code:
        raise RuntimeError(f"dtype {dtype_name(require_dtype(dtype, code, function, b'dtype'))} does not match dtype "
                           "of "
                           f"out parameter ({dtype_name(code)})")
    return code


cpdef TensorBase with_requires_grad(TensorBase made, object wanted):
    if wanted is False or wanted is None:
        if made.autograd is not None and made.is_leaf:          # it is out=, and torch sets the flag of that too
            made.requires_grad_(False)
        return made
    if wanted is not True:
        raise TypeError(f"argument 'requires_grad' must be bool, not {type(wanted).__name__}")
    if KIND[<int>made.dtype] < FLOAT_KIND:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_()


cdef object dispatched(str overload, tuple args, object dtype, object layout, object device, object pin_memory,
                       object memory_format, object requires_grad):
    """What handlers of __torch_dispatch__ return for a function that makes a tensor."""
    cdef dict kwargs = {}
    for name, value in (("dtype", dtype), ("layout", layout), ("device", device), ("pin_memory", bool(pin_memory)),
                        ("memory_format", memory_format)):
        if value is not None:
            kwargs[name] = make_device_argument(value) if name == "device" else value
    return with_requires_grad(torch_dispatch.call(overload, args, kwargs), requires_grad)


cdef object make_device_argument(object given):
    cdef int type, index
    require_device(given, &type, &index, b"empty")
    return make_device(type, index)


cdef object dispatched_sized(str overload, tuple args, object dtype, object layout, object device, object pin_memory,
                             object requires_grad):
    return dispatched(overload, args, dtype, layout, get_default_device() if device is None else device, pin_memory,
                      None, requires_grad)


cdef TensorBase fill_new(TensorBase made, const Scalar *value):
    """Fill a new tensor, by the kernel of zeros, ones or full."""
    if made.device_type == META:
        return made
    if value != &ZERO and value != &ONE:
        check_scalar_overflow(value, made.dtype)
    if made.numel == 0:
        return made
    if value == &ZERO:
        run_factory(ZEROS, NULL, 0, made)
    elif value == &ONE:
        run_factory(ONES, NULL, 0, made)
    else:
        element = cast_scalar(value, made.dtype)
        run_factory(FULL, &element, 1, made)
    return made


cdef int run_factory(Operator op, const Scalar *numbers, int count, TensorBase made) except -1:
    """Have the device's kernel, of some numbers, fill `made`."""
    cdef Argument arguments[4]
    cdef int i
    require_kernel(op, made.device_type, made.dtype)
    for i in range(count):
        arguments[i].scalar = &numbers[i]
    arguments[count].object = <PyObject *>made
    return run_kernel(op, made.device_type, arguments, made.dtype)


# --- from a size ---------------------------------------------------------------------------------------------------

cdef object empty_sparse(Shape *shape, object layout, object dtype, object device):
    """A sparse tensor without elements, of the layout given."""
    from mindtorch._sparse.constructors import empty as empty_of_layout
    return empty_of_layout(make_size(shape.ndim, shape.sizes), layout, dtype, device)


def empty(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None):
    """A tensor of the given size with undefined content: empty(2, 3) or empty((2, 3))."""
    cdef Shape shape
    cdef TensorOptions options
    parse_size(args, size, &shape, b"empty")
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched("empty.memory_format", (shape_list(&shape),), dtype, layout,
                          get_default_device() if device is None else device, pin_memory, memory_format, requires_grad)
    if layout is not None and layout is not strided and out is None:
        return empty_sparse(&shape, layout, dtype, device).requires_grad_(requires_grad)
    parse_options(&options, layout, device, pin_memory, b"empty")
    made = allocate_result(&options, &shape, parse_result_dtype(dtype, out, default_dtype(), b"empty"), out, device)
    if out is None:
        copy_cast.set_memory_format(made, memory_format, b"empty")
    if copy_cast.fill_new_memory is not None:
        copy_cast.fill_new_memory(made)
    return with_requires_grad(write_back_out(made, out), requires_grad)


def zeros(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of zeros: zeros(2, 3) or zeros((2, 3))."""
    cdef Shape shape
    cdef TensorOptions options
    parse_size(args, size, &shape, b"zeros")
    for i in range(shape.ndim):
        if shape.sizes[i] < 0:
            raise RuntimeError("zeros: Dimension size must be non-negative.")
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched_sized("zeros", (shape_list(&shape),), dtype, layout, device, pin_memory, requires_grad)
    if layout is not None and layout is not strided and out is None:
        return empty_sparse(&shape, layout, dtype, device).requires_grad_(requires_grad)
    parse_options(&options, layout, device, pin_memory, b"zeros")
    made = allocate_result(&options, &shape, parse_result_dtype(dtype, out, default_dtype(), b"zeros"), out, device)
    return with_requires_grad(write_back_out(fill_new(made, &ZERO), out), requires_grad)


def ones(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of ones: ones(2, 3) or ones((2, 3))."""
    cdef Shape shape
    cdef TensorOptions options
    parse_size(args, size, &shape, b"ones")
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched_sized("ones", (shape_list(&shape),), dtype, layout, device, pin_memory, requires_grad)
    parse_options(&options, layout, device, pin_memory, b"ones")
    made = allocate_result(&options, &shape, parse_result_dtype(dtype, out, default_dtype(), b"ones"), out, device)
    return with_requires_grad(write_back_out(fill_new(made, &ONE), out), requires_grad)


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with every element `fill_value`; its dtype is that of the number unless given."""
    cdef Shape shape
    cdef TensorOptions options
    cdef Scalar value
    parse_list(size, &shape, b"full", b"size", 1)
    require_scalar(fill_value, &value, b"full", b"fill_value", 2)
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched_sized("full", (shape_list(&shape), fill_value), dtype, layout, device, pin_memory,
                                requires_grad)
    parse_options(&options, layout, device, pin_memory, b"full")
    made = allocate_result(&options, &shape, parse_result_dtype(dtype, out, scalar_dtype(&value), b"full"), out,
                           device)
    return with_requires_grad(write_back_out(fill_new(made, &value), out), requires_grad)


# --- like another tensor -------------------------------------------------------------------------------------------

cdef TensorBase allocate_like(object like, object dtype, object layout, object device, object pin_memory,
                              object memory_format, const char *function):
    cdef TensorBase tensor = require_tensor(like, function, b"input", 1)
    cdef ScalarType code = require_dtype(dtype, tensor.dtype, function, b"dtype")
    cdef TensorOptions options
    if device is None:
        options.type, options.index = tensor.device_type, tensor.device_index
        options.pinned = wants_pinned(pin_memory, function)
        if layout is not None:
            require_strided(layout, function.decode())
        if options.pinned:
            check_pinnable(options.type)
    else:
        parse_options(&options, layout, device, pin_memory, function)
    made = empty_like_tensor(tensor, code, options.type, options.index)
    copy_cast.set_memory_format(made, memory_format, function)
    return empty_pinned_like(made) if options.pinned else made


cdef bint is_dispatched(object like) except -1:
    return isinstance(like, TensorBase) and torch_dispatch.dispatches(<TensorBase>like)


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Undefined content; shape, dtype and device of `input` unless given."""
    if torch_dispatch.active and is_dispatched(input):
        return dispatched("empty_like", (input,), dtype, layout, device, pin_memory, memory_format, requires_grad)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"empty_like")
    if copy_cast.fill_new_memory is not None:
        copy_cast.fill_new_memory(made)
    return with_requires_grad(made, requires_grad)


def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Zeros; shape, dtype and device of `input` unless given."""
    if torch_dispatch.active and is_dispatched(input):
        return dispatched("zeros_like", (input,), dtype, layout, device, pin_memory, memory_format, requires_grad)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"zeros_like")
    return with_requires_grad(fill_new(made, &ZERO), requires_grad)


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """Ones; shape, dtype and device of `input` unless given."""
    if torch_dispatch.active and is_dispatched(input):
        return dispatched("ones_like", (input,), dtype, layout, device, pin_memory, memory_format, requires_grad)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"ones_like")
    return with_requires_grad(fill_new(made, &ONE), requires_grad)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """`fill_value` everywhere; shape, dtype and device of `input` unless given."""
    if torch_dispatch.active and is_dispatched(input):
        return dispatched("full_like", (input, fill_value), dtype, layout, device, pin_memory, memory_format,
                          requires_grad)
    cdef Scalar value
    require_scalar(fill_value, &value, b"full_like", b"fill_value", 2)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"full_like")
    return with_requires_grad(fill_new(made, &value), requires_grad)


# --- ranges --------------------------------------------------------------------------------------------------------

cdef int truncate_to_int(Scalar *number) except -1:
    """As torch reads the numbers of an integer range: 0.25 is 0."""
    if number.kind >= FLOAT_KIND:
        number.integer = <int64_t>number.real
        number.real = <double>number.integer
        number.kind = INT_KIND
    return 0


cdef int64_t compute_arange_size(const Scalar *start, const Scalar *end, const Scalar *step, bint integral) except -1:
    """ceil((end - start) / step), in integers for int64, so that large ones stay exact; else in float64."""
    cdef double span
    if step.real == 0:
        raise RuntimeError("step must be nonzero")
    if not isfinite(start.real) or not isfinite(end.real):
        raise RuntimeError(f"unsupported range: {start.real} -> {end.real}")
    if (step.real > 0 and end.real < start.real) or (step.real < 0 and end.real > start.real):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if integral:
        return (end.integer - start.integer + step.integer - (1 if step.integer > 0 else -1)) // step.integer
    span = ceil((end.real - start.real) / step.real)
    if span > 9007199254740992.0:
        raise RuntimeError("invalid size, possible overflow?")
    return <int64_t>span


cdef TensorBase write_back_range(TensorBase made, TensorBase out):
    """As `write_back_out`, but an out= of as many elements keeps its shape."""
    if out is not None and made is not out and made.numel == out.numel:
        made = make_view(made, out.ndim, out.sizes, NULL, made.offset)
    return write_back_out(made, out)


cdef int warn_of_count(TensorBase out, int64_t count) except -1:
    if out.numel and out.numel != count:
        warnings.warn(
            f"The number of elements in the out tensor of shape {shape_text(out.ndim, out.sizes)} is {out.numel} which "
            f"does not match the computed number of elements {count}. Note that this may occur as a result of rounding "
            f"error. The out tensor will be resized to a tensor of shape ({count},).", UserWarning, stacklevel=2)
    return 0


def arange(*args, start=None, end=None, step=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False):
    """arange(end), arange(start, end) or arange(start, end, step): start + i * step below end."""
    cdef Scalar numbers[3]
    cdef Shape shape
    cdef TensorOptions options
    cdef bint integral = True
    cdef int i
    if len(args) > 3 or (end is None and not args):
        raise TypeError(f"arange() received an invalid combination of arguments - got {len(args)} positional "
                        "arguments, but expected (end), (start, end) or (start, end, step)")
    given = [start, end, step]
    if len(args) == 1 and end is None and start is None:
        given[1] = args[0]
    else:
        given[:len(args)] = args
    for i in range(3):
        value = given[i] if given[i] is not None else (0, None, 1)[i]
        require_scalar(value, &numbers[i], b"arange", (b"start", b"end", b"step")[i])
        integral &= numbers[i].kind < FLOAT_KIND
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        numbers_given = (given[1],) if start is None and len(args) < 2 and step is None else tuple([
            0 if given[0] is None else given[0], given[1], *([] if given[2] is None else [given[2]])])
        return dispatched_sized(("arange", "arange.start", "arange.start_step")[len(numbers_given) - 1], numbers_given,
                                dtype, layout, device, pin_memory, requires_grad)
    parse_options(&options, layout, device, pin_memory, b"arange")
    cdef ScalarType code = parse_result_dtype(dtype, out, Long if integral else default_dtype(), b"arange")
    if code == Bool or KIND[<int>code] == COMPLEX_KIND:
        raise_not_implemented("arange", code)
    if code == Long and not integral:
        for i in range(3):
            truncate_to_int(&numbers[i])
        if numbers[2].integer == 0:
            raise ValueError("step must be nonzero")
    shape.ndim = 1
    shape.sizes[0] = compute_arange_size(&numbers[0], &numbers[1], &numbers[2], code == Long)
    if out is not None:
        warn_of_count(out, shape.sizes[0])
    made = allocate_result(&options, &shape, code, out, device, True)
    if made.numel:
        run_factory(ARANGE, numbers, 3, made)
    return with_requires_grad(write_back_range(made, out), requires_grad)


cdef int parse_endpoint(object value, Scalar *number, const char *argument, int position) except -1:
    """A number, or the element of a tensor, for which the host waits."""
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim:
            raise RuntimeError("linspace only supports 0-dimensional start and end tensors, but got "
                               f"{argument.decode()} with {(<TensorBase>value).ndim} dimension(s).")
        value = value.item()
    return require_scalar(value, number, b"linspace", argument, position)


def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """`steps` numbers at equal distances, the first being `start` and the last `end`."""
    if hooks.apply_composite_to_batch is not None and (isinstance(start, TensorBase) or isinstance(end, TensorBase)):
        batch = hooks.apply_composite_to_batch(linspace, True, (start, end, steps), {
            "out": out, "dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad,
            "pin_memory": pin_memory})
        if batch is not NotImplemented:
            return batch
    cdef Scalar ends[2]
    cdef Shape shape
    cdef TensorOptions options
    parse_endpoint(start, &ends[0], b"start", 1)
    parse_endpoint(end, &ends[1], b"end", 2)
    shape.ndim = 1
    shape.sizes[0] = require_int(steps, b"linspace", b"steps", 3)
    if shape.sizes[0] < 0:
        raise RuntimeError("number of steps must be non-negative")
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched_sized("linspace", (start, end, steps), dtype, layout, device, pin_memory, requires_grad)
    parse_options(&options, layout, device, pin_memory, b"linspace")
    cdef bint is_complex = ends[0].kind == COMPLEX_KIND or ends[1].kind == COMPLEX_KIND
    cdef ScalarType code = parse_result_dtype(dtype, out, default_complex_dtype() if is_complex else default_dtype(),
                                              b"linspace")
    if is_complex and KIND[<int>code] != COMPLEX_KIND:
        raise RuntimeError(f"torch.linspace(): inferred dtype {dtype_name(default_complex_dtype())} can't be safely "
                           "cast to "
                           f"passed dtype {dtype_name(code)}")
    if code == Bool and shape.sizes[0] > 1:
        raise_not_implemented("linspace_cpu", code)
    ends[0], ends[1] = cast_scalar(&ends[0], code), cast_scalar(&ends[1], code)
    made = allocate_result(&options, &shape, code, out, device, True)
    if made.numel:
        run_factory(LINSPACE, ends, 2, made)
    return with_requires_grad(write_back_range(made, out), requires_grad)


FUNCTIONS = {f.__name__: f for f in (
    empty, zeros, ones, full, empty_like, zeros_like, ones_like, full_like, arange, linspace)}


# --- random numbers --------------------------------------------------------------------------------------------------
# New tensors, filled by the operators of random.toml.


cdef Operator RANDPERM = find_operator("randperm.generator")


cdef TensorBase allocate_sized(tuple args, object size, object out, object dtype, object layout, object device,
                               object pin_memory, const char *function):
    cdef Shape shape
    cdef TensorOptions options
    parse_size(args, size, &shape, function)
    parse_options(&options, layout, device, pin_memory, function)
    return allocate_result(&options, &shape, parse_result_dtype(dtype, out, default_dtype(), function), out, device)


cdef object dispatched_random(str name, tuple args, object size, object generator, object dtype, object layout,
                              object device, object pin_memory, object requires_grad):
    cdef Shape shape
    parse_size(args, size, &shape, name.encode())
    if generator is None:
        return dispatched_sized(name, (shape_list(&shape),), dtype, layout, device, pin_memory, requires_grad)
    return dispatched_sized(f"{name}.generator", (shape_list(&shape), generator), dtype, layout, device, pin_memory,
                            requires_grad)


def rand(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False):
    """Numbers evenly from [0, 1): rand(2, 3) or rand((2, 3))."""
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched_random("rand", args, size, generator, dtype, layout, device, pin_memory, requires_grad)
    made = allocate_sized(args, size, out, dtype, layout, device, pin_memory, b"rand")
    op_uniform_(made, 0, 1, require_generator(generator, b"rand", b"generator"))
    return with_requires_grad(write_back_out(made, out), requires_grad)


def randn(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False):
    """Normal numbers of mean 0 and deviation 1: randn(2, 3) or randn((2, 3))."""
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None:
        return dispatched_random("randn", args, size, generator, dtype, layout, device, pin_memory, requires_grad)
    made = allocate_sized(args, size, out, dtype, layout, device, pin_memory, b"randn")
    op_normal_(made, 0, 1, require_generator(generator, b"randn", b"generator"))
    return with_requires_grad(write_back_out(made, out), requires_grad)


def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """Numbers evenly from [0, 1); shape, dtype and device of `input` unless given."""
    if torch_dispatch.active and is_dispatched(input):
        return dispatched("rand_like", (input,), dtype, layout, device, pin_memory, memory_format, requires_grad)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"rand_like")
    return with_requires_grad(op_uniform_(made, 0, 1, require_generator(generator, b"rand_like", b"generator")),
                              requires_grad)


def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Normal numbers; shape, dtype and device of `input` unless given."""
    if torch_dispatch.active and is_dispatched(input):
        return dispatched("randn_like", (input,), dtype, layout, device, pin_memory, memory_format, requires_grad)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"randn_like")
    return with_requires_grad(op_normal_(made, 0, 1, require_generator(generator, b"randn_like", b"generator")),
                              requires_grad)


# --- integers ------------------------------------------------------------------------------------------------------

cdef TensorBase fill_random_integers(TensorBase made, object low, object high, object generator, const char *function):
    cdef Shape end
    end.ndim = 1
    end.sizes[0] = require_int(high, function, b"high", 2 if low is not None else 1)
    return op_random__from(made, 0 if low is None else require_int(low, function, b"low", 1), &end,
                           require_generator(generator, function, b"generator"))


cdef tuple parse_randint_bounds(tuple args, object low, object high, object last, const char *function, str signatures):
    """(low or None, high, last) of f(high, last) and f(low, high, last), whichever are given by name."""
    values = list(args)
    if last is None and values:
        last = values.pop()
    if high is None and values:
        high = values.pop()
    if low is None and values:
        low = values.pop()
    if values or high is None or last is None:
        raise_no_overload(function, args, {"low": low, "high": high} if not args else {}, signatures)
    return low, high, last


RANDINT_SIGNATURES = (" * (int high, tuple of ints size, *, torch.Generator generator = None, Tensor out = None)\n"
                      " * (int low, int high, tuple of ints size, *, torch.Generator generator = None, Tensor out = "
                      "None)\n")


def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False):
    """Integers evenly from [low, high), low being 0 unless given: randint(high, size) or randint(low, high, size)."""
    cdef Shape shape
    cdef TensorOptions options
    cdef int position = 3 if len(args) > 2 else 2
    low, high, size = parse_randint_bounds(args, low, high, size, b"randint", RANDINT_SIGNATURES)
    require_int(high, b"randint", b"high", 1 if low is None else 2)
    parse_list(size, &shape, b"randint", b"size", position)
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None and generator is None:
        bounds = (high,) if low is None else (low, high)
        return dispatched_sized(f"randint{'' if low is None else '.low'}", (*bounds, shape_list(&shape)), dtype, layout,
                                device, pin_memory, requires_grad)
    parse_options(&options, layout, device, pin_memory, b"randint")
    made = allocate_result(&options, &shape, parse_result_dtype(dtype, out, Long, b"randint"), out, device)
    fill_random_integers(made, low, high, generator, b"randint")
    return with_requires_grad(write_back_out(made, out), requires_grad)


def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None,
                 requires_grad=False, pin_memory=False, memory_format=None):
    """Integers evenly from [low, high); shape, dtype and device of `input`: randint_like(input, high)."""
    given_args = (*args, input)
    low, high, _ = parse_randint_bounds(given_args, low, high, None, b"randint_like",
                                        " * (Tensor input, int high)\n * (Tensor input, int low, int high)\n")
    if torch_dispatch.active and is_dispatched(input):
        bounds = (high,) if low is None else (low, high)
        return dispatched("randint_like" if low is None else "randint_like.low_dtype", (input, *bounds), dtype, layout,
                          device, pin_memory, memory_format, requires_grad)
    made = allocate_like(input, dtype, layout, device, pin_memory, memory_format, b"randint_like")
    return with_requires_grad(fill_random_integers(made, low, high, generator, b"randint_like"), requires_grad)


cdef int check_largest_fits(int64_t n, ScalarType dtype) except -1:
    names = {<int>Byte: ("uint8_t", 255), <int>Char: ("int8_t", 127), <int>Short: ("int16_t", 32767),
             <int>Int: ("int", 2147483647), <int>UInt16: ("uint16_t", 65535), <int>UInt32: ("uint32_t", 4294967295)}
    name, most = names.get(<int>dtype, ("", n))
    if n > most:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return 0


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """The integers from 0 to n - 1 in random order."""
    cdef Shape shape
    cdef TensorOptions options
    cdef TensorBase made
    cdef Argument arguments[2]
    shape.ndim = 1
    shape.sizes[0] = require_int(n, b"randperm", b"n", 1)
    if torch_dispatch.active and torch_dispatch.has_modes() and out is None and generator is None:
        return dispatched_sized("randperm", (n,), dtype, layout, device, pin_memory, requires_grad)
    cdef ScalarType code = parse_result_dtype(dtype, out, Long, b"randperm")
    if code == Bool or KIND[<int>code] > INT_KIND + 1:
        raise_not_implemented("randperm", code)
    check_largest_fits(shape.sizes[0], code)
    parse_options(&options, layout, device, pin_memory, b"randperm")
    made = allocate_result(&options, &shape, code, out, device)
    require_kernel(RANDPERM, made.device_type, code)
    source = generator_for(require_generator(generator, b"randperm", b"generator"), made.device_type, made.device_index)
    if made.numel:
        arguments[0].object = <PyObject *>source
        arguments[1].object = <PyObject *>made
        run_kernel(RANDPERM, made.device_type, arguments, code)
    return with_requires_grad(write_back_out(made, out), requires_grad)


FUNCTIONS.update({f.__name__: f for f in (rand, randn, rand_like, randn_like, randint, randint_like, randperm)})
