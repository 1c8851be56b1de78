"""Whether the arguments of a call are those of torch's operator of that name: what is asked for functions written in
Python before they run, once for the same types, and where they fail; they do not look at their arguments' types.

The types are those that torch's parser takes, not those of torch.ops (binding.py): an int is no bool, a bool no int.
"""
import inspect
from functools import cache
from numbers import Number, Real

import numpy as np

from mindtorch._core._gen.schemas import SCHEMAS
from mindtorch._core.formats import layout, memory_format
from mindtorch._core.tensor.dtype import dtype
from mindtorch._core.tensor.generator import Generator
from mindtorch._core.tensor.tensor import TensorBase, device
from mindtorch._library.schema import parse_schema

_NAMES = {"input": "self", "axis": "dim", "keepdims": "keepdim"}    # of parameters: in Python, and in the schemas
_ACCEPT_NUMBERS = {f"{name}{form}" for form in ("", "_") for name in (
    "add", "sub", "mul", "div", "floor_divide", "multiply", "divide", "subtract", "true_divide", "bitwise_and",
    "bitwise_or", "bitwise_xor")}


def _is_number_tensor(value):
    return isinstance(value, TensorBase) and not value.dim() and not value.requires_grad


def _is_one_number(value):
    return isinstance(value, TensorBase) and value.numel() == 1


def _is_int(value):
    if isinstance(value, TensorBase):
        return _is_number_tensor(value) and not value.is_complex() and not value.is_floating_point()
    return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_, type))


def _is_float(value):
    return isinstance(value, Real) or _is_number_tensor(value)


# Type of a schema -> (whether a value is of it, what messages call it).
_CHECKS = {
    "Tensor": (lambda value: isinstance(value, TensorBase), "Tensor"),
    "Scalar": (lambda value: isinstance(value, Number) or _is_number_tensor(value), "Number"),
    "int": (_is_int, "int"), "SymInt": (_is_int, "int"), "float": (_is_float, "float"),
    "bool": (lambda value: isinstance(value, bool), "bool"),
    "str": (lambda value: isinstance(value, (str, bytes)), "str"),
    "ScalarType": (lambda value: isinstance(value, (dtype, type)), "torch.dtype"),
    "Layout": (lambda value: isinstance(value, layout), "torch.layout"),
    "MemoryFormat": (lambda value: isinstance(value, memory_format), "torch.memory_format"),
    "Device": (lambda value: isinstance(value, (str, device, int)), "torch.device"),
    "Generator": (lambda value: isinstance(value, Generator), "torch.Generator"),
}
# Of methods that torch's parser knows and torch.ops does not.
_TO_DEVICE = ("(Tensor self, Device? device=None, bool non_blocking=False, *, MemoryFormat? memory_format=None) -> "
              "Tensor")
_NO_OPERATORS = ("torch.nn.init", "torch.distributed.distributed_c10d")         # modules
# They fail as their code does where they get no tensor.
_METHODS_IN_PYTHON = {
    "backward", "dim_order", "eig", "is_shared", "istft", "lstsq", "lu", "module_load", "norm", "register_hook",
    "register_post_accumulate_grad_hook", "reinforce", "resize", "resize_as", "share_memory_", "solve", "split", "stft",
    "storage", "storage_type", "symeig", "to_sparse_coo", "unflatten", "unique", "unique_consecutive"}
_ANY = (lambda value: True, "")
_ABSENT = object()      # an argument that is as if it were not given


def _fits(kind, value):
    if kind.kind == "optional":
        return value is None or _fits(kind.inner, value)
    if kind.kind == "list":
        if isinstance(value, (list, tuple)):
            return all(_is_one_number(item) or _fits(kind.inner, item) for item in value)
        return kind.size is not None and _fits(kind.inner, value)
    return _CHECKS.get(kind.base, _ANY)[0](value)


def _wanted(kind):
    """What a message calls a type."""
    if kind.kind == "optional":
        return _wanted(kind.inner)
    name = _CHECKS.get(kind.leaf, _ANY)[1]
    return f"tuple of {name}s" if kind.kind == "list" else name


def _type_name(value):
    named = {dtype: "torch.dtype", layout: "torch.layout", device: "torch.device"}
    return named.get(type(value), type(value).__name__)


@cache
def _texts():
    """Name of an operator -> the schemas of its overloads."""
    texts = {name: [f"{name}{_TO_DEVICE}"] for name in ("cuda", "ipu", "xpu")}
    for line in filter(None, SCHEMAS["aten"].splitlines()):
        texts.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return texts


@cache
def _overloads(name):
    """The schemas of an operator without those of out=, which `wrong_arguments` checks itself."""
    found = [parse_schema(f"aten::{text}") for text in _texts().get(name, ())]
    return [schema for schema in found if not any(argument.is_out for argument in schema.arguments)]


def _misfit(schema, args, named, is_method):
    """(the argument whose value has a wrong type, its position from 0 or None); None if the call fits; () if it has too
    few arguments, or too many.
    """
    arguments = schema.arguments
    if is_method:                                           # polygamma(int n, Tensor self)
        arguments = sorted(arguments, key=lambda argument: argument.name != "self")
    positional = [argument for argument in arguments if not argument.kwarg_only]
    last = len(positional) - 1
    if last == is_method and positional[last].type.kind == "list" and len(args) > last and _is_int(args[last]):
        args = (*args[:last], args[last:])                  # sizes that are given one by one
    if len(args) > len(positional):
        return ()
    left = dict(named)
    for place, argument in enumerate(arguments):
        if place < len(args):
            value, at = args[place], place
        elif argument.name in left:
            value, at = left.pop(argument.name), None
        elif argument.default:
            continue
        else:
            return ()
        if value is _ABSENT:
            continue
        if value is None and argument.default and argument.default_value in (None, [], ()):     # [] is None in Python
            continue
        numbers = argument.type.kind == "base" and argument.type.base == "Tensor" and \
            schema.name.removeprefix("aten::") in _ACCEPT_NUMBERS and isinstance(value, Number)
        if not numbers and not _fits(argument.type, value):
            return argument, at
    return () if left else None


def _without_defaults(function, args, kwargs):
    """The arguments; None is absent where the function itself has it for what is not given, as others call it."""
    parameters = inspect.signature(function.__wrapped__).parameters
    absent = [parameter.default is None for parameter in parameters.values()]
    args = [_ABSENT if value is None and place < len(absent) and absent[place] else value
            for place, value in enumerate(args)]
    while args and args[-1] is _ABSENT:
        args.pop()
    return tuple(args), {name: value for name, value in kwargs.items()
                         if value is not None or name not in parameters or parameters[name].default is not None}


def wrong_arguments(function, args, kwargs):
    """The TypeError of a call whose arguments fit no overload; None if they fit one, or if there are none."""
    name = function.__name__
    if function._is_method and not (args and isinstance(args[0], TensorBase)) and not (
            name.startswith("_") or name in _METHODS_IN_PYTHON):
        if not args:
            return TypeError(f"unbound method TensorBase.{name}() needs an argument")
        return TypeError(f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
                         f"'{_type_name(args[0])}' object")
    # The schemas of `to` leave out what torch's parser takes: a device alone; those of `norm`, a function in Python,
    # an order in words. The collective `scatter` is not the operator.
    if name in ("to", "norm") or hasattr(function.__wrapped__, "refuses") or function.__module__ in _NO_OPERATORS:
        return None
    overloads = _overloads(name) or _overloads(name.removesuffix("_"))
    if not overloads or not (function._is_method or inspect.isbuiltin(function)):
        return _wrong_by_name(function, overloads, args, kwargs)
    args, kwargs = _without_defaults(function, args, kwargs)
    known = {argument.name for schema in overloads for argument in schema.arguments}
    named = {key if key in known else _NAMES.get(key, key): value for key, value in kwargs.items()}
    out = named.pop("out", None)
    if out is not None and not isinstance(out, (TensorBase, list, tuple)):
        return TypeError(f"{name}(): argument 'out' must be Tensor, not {_type_name(out)}")
    requires_grad = named.pop("requires_grad", None)                # no schema has it: the parser adds it
    if requires_grad is not None and not isinstance(requires_grad, bool):
        return TypeError(f"{name}(): argument 'requires_grad' must be bool, not {_type_name(requires_grad)}")
    named = {key: value for key, value in named.items() if key in known}
    misfits = [_misfit(schema, args, named, function._is_method) for schema in overloads]
    if None in misfits:
        return None
    if len(overloads) == 1 and misfits[0]:
        argument, place = misfits[0]
        value = args[place] if place is not None else named[argument.name]
        if argument.type.kind == "list" and argument.type.leaf == "Tensor" and isinstance(value, (list, tuple)):
            return _wrong_element(argument.type, value, overloads[0].arguments.index(argument))
        name_in_python = "input" if argument.name == "self" and argument.type.kind == "base" else argument.name
        return _wrong_type(function, name_in_python, _wanted(argument.type), place, value)
    given = [_type_name(value) for value in args]
    given += [f"{key}={_type_name(value)}" for key, value in kwargs.items()]
    return TypeError(f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected "
                     "one of:\n" + "\n".join(f" * {schema}" for schema in overloads))


def _wrong_type(function, parameter, wanted, place, value):
    where = "" if place is None else f" (position {place + (not function._is_method)})"
    return TypeError(f"{function.__name__}(): argument '{parameter}'{where} must be {wanted}, not {_type_name(value)}")


def _wrong_element(kind, values, place):
    """The TypeError of a list of tensors in which something else is; None if there is nothing else."""
    for at, item in enumerate(values):
        if not _fits(kind.inner, item):
            return TypeError(f"expected Tensor as element {at} in argument {place}, but got {_type_name(item)}")
    return None


def _wrong_by_name(function, overloads, args, kwargs):
    """The TypeError of a call of what is a function in Python in torch, too, or has no schema there; None if there is
    none. It hands an argument on to the parameter of that name, and None in its place, so that alone its type counts.
    """
    try:
        bound = inspect.signature(function.__wrapped__).bind(*args, **kwargs)
    except TypeError:
        return None
    for place, (name, value) in enumerate(bound.arguments.items()):
        parameter = bound.signature.parameters[name]
        if parameter.kind == parameter.VAR_POSITIONAL and overloads:        # tensors, one by one or as a list
            values = value[0] if len(value) == 1 and isinstance(value[0], (list, tuple)) else value
            kind = overloads[0].arguments[0].type
            return _wrong_element(kind, values, 0) if kind.kind == "list" and kind.leaf == "Tensor" else None
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        wanted = _wanted_by_name(parameter, overloads, value)
        if wanted:
            return _wrong_type(function, name, wanted, place if place < len(args) else None, value)
    return None


def _wanted_by_name(parameter, overloads, value):
    """The type that a parameter should have had, or None."""
    annotation = parameter.annotation
    kinds = [argument.type for schema in overloads for argument in schema.arguments
             if argument.name in (parameter.name, _NAMES.get(parameter.name))]
    fits = any(_fits(kind, value) for kind in kinds) or (
        isinstance(value, (list, tuple)) and any(part is None for part in value))
    if (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")) == "Tensor":
        return None if fits or isinstance(value, TensorBase) else "Tensor"
    is_handed_on = parameter.default in (None, parameter.empty) or any(_fits(kind, parameter.default) for kind in kinds)
    return None if fits or value is None or not kinds or not is_handed_on else _wanted(kinds[0])


# --- arguments of handlers --------------------------------------------------------------------------------------------

def is_written_in_python(function):
    """Whether torch has a function in Python. Its handlers get all arguments; those of others get what a call gives."""
    if function._is_method:
        return function.__name__.startswith("_") or function.__name__ in _METHODS_IN_PYTHON
    return not inspect.isbuiltin(function)


def with_defaults(function, args, kwargs):
    """(args, kwargs) as torch passes those of Python functions: parameters with a default by keyword, given or not."""
    signature = inspect.signature(function)
    by_name = {}
    if "out" in kwargs and "out" not in signature.parameters:       # the decorator of a composite adds it
        kwargs = dict(kwargs)
        by_name["out"] = kwargs.pop("out")
    bound = signature.bind(*args, **kwargs)
    parameters = signature.parameters
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
        return args, kwargs | by_name
    bound.apply_defaults()
    given = []
    for name, value in bound.arguments.items():
        parameter = parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            by_name.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            given.append(value)
        else:
            by_name[name] = value
    return tuple(given), by_name
