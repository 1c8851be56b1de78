"""Device-neutral operators written with other operators."""
import functools
import inspect

from mindtorch._core import hooks
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.rules.infer import resize_output
from mindtorch._core.tensor.dtype import _can_cast, _promote_types
from mindtorch._core.tensor.factories import empty as _empty
from mindtorch._core.tensor.indexing import nonzero as _nonzero
from mindtorch._core.tensor.tensor import TensorBase

_all, _isclose, _equal, _where = _OPS["all"], _OPS["isclose"], _ATEN["_equal"], _OPS["where"]


def _require_tensors(function, **values):
    """TypeError for the first argument that is no tensor, counted from 1."""
    for position, (name, value) in enumerate(values.items(), 1):
        if not isinstance(value, TensorBase):
            raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, "
                            f"not {type(value).__name__}")


def require_list(tensors, argument=0):
    """TypeError for the first of a list of tensors that is none; `argument` is the list's place among the arguments."""
    for place, value in enumerate(tensors):
        if not isinstance(value, TensorBase):
            raise TypeError(f"expected Tensor as element {place} in argument {argument}, but got "
                            f"{type(value).__name__}")


# dtype -> its name as a scalar type, and that of its C++ type: messages have the one or the other.
_SCALAR_TYPES = {
    "bool": ("Bool", "bool"), "uint8": ("Byte", "unsigned char"), "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"), "int32": ("Int", "int"), "int64": ("Long", "long int"),
    "float16": ("Half", "c10::Half"), "bfloat16": ("BFloat16", "c10::BFloat16"), "float32": ("Float", "float"),
    "float64": ("Double", "double"), "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"), "uint16": ("UInt16", "unsigned short"),
    "uint32": ("UInt32", "unsigned int"), "uint64": ("UInt64", "unsigned long"),
    **{name: (name.capitalize(), f"c10::{name.capitalize()}") for name in (
        "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu")}}


def wrap_dim(dim, ndim):
    """A dimension counted from 0. IndexError for one out of range; without dimensions a tensor counts as having one."""
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


def check_int64(*numbers):
    """ValueError for a number beyond 64 bits, with torch's words."""
    for number in numbers:
        if not -2 ** 63 <= number < 2 ** 63:
            raise ValueError("Overflow when unpacking long long")


def scalar_type(dtype):
    """The name of the dtype in messages: Float, Long."""
    return _SCALAR_TYPES[str(dtype).removeprefix("torch.")][0]


def to_dtype(dtype):
    """The dtype that one of Python's number types stands for; anything else as it is."""
    return _empty(0, dtype=dtype).dtype if isinstance(dtype, type) else dtype


def c_type(dtype):
    """The name of the C++ type in messages: float, long int."""
    return _SCALAR_TYPES[str(dtype).removeprefix("torch.")][1]


def require_same_device(result, out):
    """RuntimeError where the results would go to another device."""
    if out.device != result.device:
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{result.device} and {out.device}!")


def to_out(function, result, out):
    """The result, or, where out= was given, that with the result in it; it must have the result's dtype."""
    if out is None:
        return result
    require_same_device(result, out)
    if out.dtype is not result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {c_type(result.dtype)}, but got {c_type(out.dtype)} "
                           "instead")
    return written(function, result, out, columns="never")


def written(function, result, out, same_dtype=False, columns="always"):
    """The result in `out`, which is resized, and whose dtype must be able to hold it, or be the result's."""
    require_same_device(result, out)
    if same_dtype and out.dtype is not result.dtype:
        raise RuntimeError(f"{function}: Expected out tensor to have dtype {c_type(result.dtype)}, but got "
                           f"{c_type(out.dtype)} instead")
    if not _can_cast(result.dtype, out.dtype):
        raise RuntimeError(f"result type {scalar_type(result.dtype)} can't be cast to the desired output type "
                           f"{scalar_type(out.dtype)}")
    if is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise RuntimeError(f"{function}(): functions with out=... arguments don't support automatic differentiation, "
                           "but one of the arguments requires grad.")
    if out.shape != result.shape:
        columns = columns == "always" or (columns == "empty" and not out.numel() and out.dtype is result.dtype)
        resize_output(out, result)
        if columns and result.dim() > 1 and result.mT.is_contiguous():
            out.as_strided_(result.shape, result.stride())
    return out.copy_(result)


def _for_batches(function, each_sample):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if hooks.apply_composite_to_batch is not None:
            result = hooks.apply_composite_to_batch(function, each_sample, args, kwargs)
            if result is not NotImplemented:
                return result
        return function(*args, **kwargs)
    return wrapper


def run_for_each_sample(function):
    """A decorator of composites that read elements: under vmap they run for each sample."""
    return _for_batches(function, True)


def expand_to_batch(function):
    """A decorator of composites that write a tensor to a copy of another: under vmap both get the batch."""
    return _for_batches(function, False)


def with_names(**names):
    """A decorator: parameters may have the names of torch's other overloads, other name=parameter."""
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **options):
            for other in names.keys() & options.keys():
                parameter = names[other]
                if parameter in options:
                    raise TypeError(f"{function.__name__}() got both '{parameter}' and '{other}'")
                options[parameter] = options.pop(other)
            return function(*args, **options)
        return wrapper
    return decorate


def require_tuple(name, out):
    """TypeError unless the out= of a function of several results is a tuple."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")


def with_out(function=None, *, same_dtype=False, columns="always"):
    """Add out= to a composite: one tensor, or a tuple of tensors, resized and written.

    With `same_dtype` out= must have the result's dtype; otherwise one that can hold it. `columns` tells whether an out=
    of another shape takes the order of column-major matrices: "always", where it is "empty" and has the result's
    dtype, or "never".
    """
    if function is None:
        return functools.partial(with_out, same_dtype=same_dtype, columns=columns)

    @functools.wraps(function)
    def wrapper(*args, out=None, **options):
        if isinstance(out, (tuple, list)):
            require_list(out, len(inspect.signature(function).parameters))
        result = function(*args, **options)
        if out is None:
            return result
        name = function.__name__
        if isinstance(result, TensorBase):
            return written(name, result, out, same_dtype, columns)
        require_tuple(name, out)
        return type(result)(written(name, value, one, same_dtype, columns)
                            for one, value in zip(out, result, strict=True))
    return wrapper


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close, as `isclose` says. Waits for the device."""
    _require_tensors("allclose", input=input, other=other)
    return bool(_all(_isclose(input, other, rtol, atol, equal_nan)).item())


def equal(input, other):
    """Whether two tensors have the same shape and the same elements. Waits for the device."""
    _require_tensors("equal", input=input, other=other)
    if input.is_meta or other.is_meta:
        raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors, but there was no "
                                  "fake impl or Meta kernel registered: the answer depends on the elements")
    if input.shape != other.shape:
        return False
    if input.dtype is not other.dtype:
        common = _promote_types(input.dtype, other.dtype)
        input, other = input.to(common), other.to(common)
    return bool(_equal(input, other).item())


def _method(function):
    """The method form, whose messages do not count `self`."""
    @functools.wraps(function)
    def method(self, other, *args, **options):
        _require_tensors(function.__name__, other=other)
        return function(self, other, *args, **options)
    return method


def where(condition, *branches, **options):
    """`input` where `condition` is true, else `other`; of the condition alone, the indices of its true elements."""
    if branches or options:
        return _where(condition, *branches, **options)
    return _nonzero(condition, as_tuple=True)


def where_method(self, condition, other):
    """Tensor.where: the tensor's elements where `condition` is true, else those of `other`."""
    return _where(condition, self, other)


_COMPARISONS = {"allclose": allclose, "equal": equal}
FUNCTIONS = {"where": where, **_COMPARISONS}
METHODS = {"where": where_method,
           **{name: _method(function) for name, function in _COMPARISONS.items()}}
