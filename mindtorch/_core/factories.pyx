"""Functions that make tensors from sizes and numbers. The kernels behind them are rows of creation.toml."""
from cpython.ref cimport PyObject
from libc.math cimport ceil, isfinite
from libc.stdint cimport int64_t

from mindtorch._core.arguments cimport (
    parse_ints, parse_varargs, require_bool, require_device, require_dtype, require_int, require_scalar, require_tensor,
    wrong_type)
from mindtorch._core.device cimport pinned_like, require_host
from mindtorch._core.dispatch cimport ONE, finish, number_dtype
from mindtorch._core.dtype cimport KIND, code_name, default_complex, default_dtype
from mindtorch._core.infer cimport output
from mindtorch._core.operator cimport Argument, Operator, find_operator, require_kernel, run_kernel
from mindtorch._core.scalar cimport (
    COMPLEX_KIND, FLOAT_KIND, INT_KIND, Bool, Long, Scalar, ScalarType, as_element, scalar_from)
from mindtorch._core.tensor cimport Shape, TensorBase, empty_like_tensor, make_view
from mindtorch._core.values cimport check_fits

from mindtorch._core.formats import require_strided

cdef Operator ZEROS = find_operator("zeros")
cdef Operator ONES = find_operator("ones")
cdef Operator FULL = find_operator("full")
cdef Operator ARANGE = find_operator("arange.start_step")
cdef Operator LINSPACE = find_operator("linspace")

cdef Scalar ZERO
scalar_from(0, &ZERO)


cdef bint wants_pinned(object pin_memory, const char *function) except -1:
    return pin_memory is not None and require_bool(pin_memory, function, b"pin_memory")


cdef int read_place(Request *request, object layout, object device, object pin_memory, const char *function) except -1:
    if layout is not None:
        require_strided(layout, function.decode())
    request.pinned = wants_pinned(pin_memory, function)
    require_device(device, &request.type, &request.index, function)
    return require_host(request.type) if request.pinned else 0


cdef TensorBase make(Request *request, const Shape *shape, ScalarType dtype, object out, object device):
    cdef TensorBase given = out
    if given is None:
        given = output(None, shape, dtype, request.type, request.index)
        return pinned_like(given) if request.pinned else given
    if device is None:
        request.type, request.index = given.device_type, given.device_index
    return output(given, shape, dtype, request.type, request.index)


cdef int read_size(tuple args, object size, Shape *shape, const char *function) except -1:
    if size is not None:
        return parse_ints(size, shape, function, b"size")
    if not args:
        raise TypeError(f'{function.decode()}() missing 1 required positional arguments: "size"')
    return parse_varargs(args, shape, function, b"size")


cdef ScalarType dtype_for(object dtype, object out, ScalarType otherwise, const char *function) except *:
    cdef ScalarType code
    if out is None:
        return require_dtype(dtype, otherwise, function, b"dtype")
    code = require_tensor(out, function, b"out").dtype
    if require_dtype(dtype, code, function, b"dtype") != code:
        raise RuntimeError(f"dtype {code_name(require_dtype(dtype, code, function, b'dtype'))} does not match dtype of "
                           f"out parameter ({code_name(code)})")
    return code


cdef TensorBase leaf(TensorBase made, object wanted):
    if not wanted:
        return made
    if KIND[<int>made.dtype] < FLOAT_KIND:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_()


cdef TensorBase fill(TensorBase made, const Scalar *value):
    """Give new memory one value, by the kernel that is made for it."""
    if made.numel == 0:
        return made
    if value == &ZERO:
        run_factory(ZEROS, NULL, 0, made)
    elif value == &ONE:
        run_factory(ONES, NULL, 0, made)
    else:
        check_fits(value, made.dtype)
        element = as_element(value, made.dtype)
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

def empty(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None):
    """A tensor of the given size with undefined content: empty(2, 3) or empty((2, 3))."""
    cdef Shape shape
    cdef Request request
    read_size(args, size, &shape, b"empty")
    read_place(&request, layout, device, pin_memory, b"empty")
    made = make(&request, &shape, dtype_for(dtype, out, default_dtype(), b"empty"), out, device)
    return leaf(finish(made, out), requires_grad)


def zeros(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of zeros: zeros(2, 3) or zeros((2, 3))."""
    cdef Shape shape
    cdef Request request
    read_size(args, size, &shape, b"zeros")
    for i in range(shape.ndim):
        if shape.sizes[i] < 0:
            raise RuntimeError("zeros: Dimension size must be non-negative.")
    read_place(&request, layout, device, pin_memory, b"zeros")
    made = make(&request, &shape, dtype_for(dtype, out, default_dtype(), b"zeros"), out, device)
    return leaf(finish(fill(made, &ZERO), out), requires_grad)


def ones(*args, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of ones: ones(2, 3) or ones((2, 3))."""
    cdef Shape shape
    cdef Request request
    read_size(args, size, &shape, b"ones")
    read_place(&request, layout, device, pin_memory, b"ones")
    made = make(&request, &shape, dtype_for(dtype, out, default_dtype(), b"ones"), out, device)
    return leaf(finish(fill(made, &ONE), out), requires_grad)


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with every element `fill_value`; its dtype is that of the number unless given."""
    cdef Shape shape
    cdef Request request
    cdef Scalar value
    if not isinstance(size, (tuple, list)):
        wrong_type(size, b"full", b"size", 1, "tuple of ints")
    parse_ints(size, &shape, b"full", b"size", 1)
    require_scalar(fill_value, &value, b"full", b"fill_value", 2)
    read_place(&request, layout, device, pin_memory, b"full")
    made = make(&request, &shape, dtype_for(dtype, out, number_dtype(&value), b"full"), out, device)
    return leaf(finish(fill(made, &value), out), requires_grad)


# --- like another tensor -------------------------------------------------------------------------------------------

cdef TensorBase make_like(object like, object dtype, object layout, object device, object pin_memory,
                          const char *function):
    cdef TensorBase tensor = require_tensor(like, function, b"input", 1)
    cdef ScalarType code = require_dtype(dtype, tensor.dtype, function, b"dtype")
    cdef Request request
    if device is None:
        request.type, request.index = tensor.device_type, tensor.device_index
        request.pinned = wants_pinned(pin_memory, function)
        if layout is not None:
            require_strided(layout, function.decode())
        if request.pinned:
            require_host(request.type)
    else:
        read_place(&request, layout, device, pin_memory, function)
    made = empty_like_tensor(tensor, code, request.type, request.index)
    return pinned_like(made) if request.pinned else made


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Undefined content; shape, dtype and device of `input` unless given."""
    return leaf(make_like(input, dtype, layout, device, pin_memory, b"empty_like"), requires_grad)


def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Zeros; shape, dtype and device of `input` unless given."""
    return leaf(fill(make_like(input, dtype, layout, device, pin_memory, b"zeros_like"), &ZERO), requires_grad)


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """Ones; shape, dtype and device of `input` unless given."""
    return leaf(fill(make_like(input, dtype, layout, device, pin_memory, b"ones_like"), &ONE), requires_grad)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """`fill_value` everywhere; shape, dtype and device of `input` unless given."""
    cdef Scalar value
    require_scalar(fill_value, &value, b"full_like", b"fill_value", 2)
    return leaf(fill(make_like(input, dtype, layout, device, pin_memory, b"full_like"), &value), requires_grad)


# --- ranges --------------------------------------------------------------------------------------------------------

cdef int truncate(Scalar *number) except -1:
    """As torch reads the numbers of an integer range: 0.25 is 0."""
    if number.kind >= FLOAT_KIND:
        number.integer = <int64_t>number.real
        number.real = <double>number.integer
        number.kind = INT_KIND
    return 0


cdef int64_t range_length(const Scalar *start, const Scalar *end, const Scalar *step, bint integral) except -1:
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


cdef TensorBase finish_range(TensorBase made, TensorBase out):
    """As `finish`, but an out= of as many elements keeps its shape."""
    if out is not None and made is not out and made.numel == out.numel:
        made = make_view(made, out.ndim, out.sizes, NULL, made.offset)
    return finish(made, out)


def arange(*args, start=None, end=None, step=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False):
    """arange(end), arange(start, end) or arange(start, end, step): start + i * step below end."""
    cdef Scalar numbers[3]
    cdef Shape shape
    cdef Request request
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
    read_place(&request, layout, device, pin_memory, b"arange")
    cdef ScalarType code = dtype_for(dtype, out, Long if integral else default_dtype(), b"arange")
    if code == Bool or KIND[<int>code] == COMPLEX_KIND:
        raise NotImplementedError(f'"arange" not implemented for \'{code_name(code)}\'')
    if code == Long and not integral:
        for i in range(3):
            truncate(&numbers[i])
        if numbers[2].integer == 0:
            raise ValueError("step must be nonzero")
    shape.ndim = 1
    shape.sizes[0] = range_length(&numbers[0], &numbers[1], &numbers[2], code == Long)
    made = make(&request, &shape, code, out, device)
    if made.numel:
        run_factory(ARANGE, numbers, 3, made)
    return leaf(finish_range(made, out), requires_grad)


cdef int read_end(object value, Scalar *number, const char *argument, int position) except -1:
    """A number, or a tensor of one, whose value is waited for."""
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim:
            raise RuntimeError("linspace only supports 0-dimensional start and end tensors, but got "
                               f"{argument.decode()} with {(<TensorBase>value).ndim} dimension(s).")
        value = value.item()
    return require_scalar(value, number, b"linspace", argument, position)


def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """`steps` numbers at equal distances, the first being `start` and the last `end`."""
    cdef Scalar ends[2]
    cdef Shape shape
    cdef Request request
    read_end(start, &ends[0], b"start", 1)
    read_end(end, &ends[1], b"end", 2)
    shape.ndim = 1
    shape.sizes[0] = require_int(steps, b"linspace", b"steps", 3)
    if shape.sizes[0] < 0:
        raise RuntimeError("number of steps must be non-negative")
    read_place(&request, layout, device, pin_memory, b"linspace")
    cdef bint is_complex = ends[0].kind == COMPLEX_KIND or ends[1].kind == COMPLEX_KIND
    cdef ScalarType code = dtype_for(dtype, out, default_complex() if is_complex else default_dtype(), b"linspace")
    if is_complex and KIND[<int>code] != COMPLEX_KIND:
        raise RuntimeError(f"torch.linspace(): inferred dtype {code_name(default_complex())} can't be safely cast to "
                           f"passed dtype {code_name(code)}")
    if code == Bool and shape.sizes[0] > 1:
        raise NotImplementedError('"linspace_cpu" not implemented for \'Bool\'')
    ends[0], ends[1] = as_element(&ends[0], code), as_element(&ends[1], code)
    made = make(&request, &shape, code, out, device)
    if made.numel:
        run_factory(LINSPACE, ends, 2, made)
    return leaf(finish_range(made, out), requires_grad)


FUNCTIONS = {f.__name__: f for f in (
    empty, zeros, ones, full, empty_like, zeros_like, ones_like, full_like, arange, linspace)}
