"""torch.fx.operator_schemas: the signatures of operators, and calls written in one form by them."""
from __future__ import annotations

import cmath
import inspect
import math
import numbers
import typing
from functools import cache
from importlib import import_module
from types import BuiltinFunctionType, NoneType, UnionType
from typing import Any, NamedTuple

import mindtorch
from mindtorch._library.overloads import OpOverload, OpOverloadPacket
from mindtorch.nn import Module

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
           "normalize_function", "normalize_module", "type_matches"]

# The modules whose functions are operators, with what the names of their operators begin with.
_PLACES = {"mindtorch": "", "mindtorch.nn.functional": "", "mindtorch.linalg": "linalg_", "mindtorch.fft": "fft_",
           "mindtorch.special": "special_"}
# What Python calls the types of schemas.
_PYTHON_TYPES = {"Tensor": mindtorch.Tensor, "int": int, "SymInt": int, "float": float, "bool": bool, "SymBool": bool,
                 "str": str, "complex": complex, "Scalar": numbers.Number, "ScalarType": mindtorch.dtype,
                 "Layout": mindtorch.layout, "MemoryFormat": mindtorch.memory_format, "Device": mindtorch.device,
                 "DeviceIndex": int, "Generator": mindtorch.Generator, "NoneType": NoneType}
_BY_POSITION, _ANYWHERE, _BY_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                     inspect.Parameter.KEYWORD_ONLY)


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call: by position, and by name.

    Arguments:
        args: the arguments
        kwargs: the arguments by name
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """The signatures of an operator's overloads; None for a function that is no operator.

    With return_schemas a pair: the signatures, and the schemas that they were made of.

    Arguments:
        op: the operator
        return_schemas: whether the schemas are returned as well

    Example:
        >>> torch.fx.operator_schemas.get_signature_for_torch_op(torch.relu)[0].parameters.keys()
        odict_keys(['input'])
    """
    if isinstance(op, OpOverload):
        schemas = [op._schema]
    else:
        packet = op if isinstance(op, OpOverloadPacket) else _operator_of(op)
        if packet is None:
            return (None, None) if return_schemas else None
        schemas = [getattr(packet, name)._schema for name in packet.overloads()]
    signatures = [_torchscript_schema_to_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


@cache
def _operators():
    """{id of a function: its operator}, of the functions that are operators in torch."""
    found = {}
    for place, prefix in _PLACES.items():
        for name, function in vars(import_module(place)).items():
            if isinstance(function, BuiltinFunctionType) and name not in ("tensor", "as_tensor"):
                packet = getattr(mindtorch.ops.aten, prefix + name, None) or getattr(
                    mindtorch.ops.aten, function.__name__, None)
                if packet is not None:
                    found.setdefault(id(function), packet)
    return found


def _operator_of(function):
    """The operator that a function calls; None where there is none."""
    if getattr(math, getattr(function, "__name__", ""), None) is function or (
            getattr(cmath, getattr(function, "__name__", ""), None) is function):
        return getattr(mindtorch.ops.aten, function.__name__, None)
    try:
        return _operators().get(id(function))
    except TypeError:
        return None


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    """The annotation for a type of a schema."""
    if ts_type.kind == "optional":
        return typing.Optional[_torchscript_type_to_python_type(ts_type.inner)]     # noqa: UP045 - as torch says it
    if ts_type.kind == "list":
        return typing.List[_torchscript_type_to_python_type(ts_type.inner)]         # noqa: UP006
    if ts_type.kind == "tuple":
        return typing.Tuple[tuple(map(_torchscript_type_to_python_type, ts_type.parts))]        # noqa: UP006
    return _PYTHON_TYPES.get(ts_type.base, Any)


def _torchscript_schema_to_signature(schema: Any) -> inspect.Signature:
    """A schema as the signature of a function; `self` is called `input`, as in the torch namespace."""
    names = [argument.name for argument in schema.arguments]
    parameters = []
    for argument in schema.arguments:
        name = "input" if argument.name == "self" and "input" not in names else argument.name
        # `from` is no name of a parameter in Python: it and what precedes it are given by position
        before = "from" in names and names.index(argument.name) <= names.index("from")
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        kind = _BY_NAME if argument.kwarg_only else _BY_POSITION if before else _ANYWHERE
        parameters.append(inspect.Parameter("from_" if name == "from" else name, kind, default=default,
                                            annotation=_torchscript_type_to_python_type(argument.type)))
    returns = [_torchscript_type_to_python_type(each.type) for each in schema.returns]
    result = None if not returns else returns[0] if len(returns) == 1 else tuple(returns)
    return inspect.Signature(parameters, return_annotation=result)


def check_for_mutable_operation(target: Any, args: Any, kwargs: Any) -> None:
    """RuntimeError where a call writes to an argument, by the schemas that fit it.

    Arguments:
        target: what is called
        args: the arguments
        kwargs: the arguments by name

    Example:
        >>> x = torch.ones(2)
        >>> torch.fx.operator_schemas.check_for_mutable_operation(torch.add, (x, x), {})
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    fitting = [schema for signature, schema in zip(signatures or (), schemas or (), strict=True)
               if _fits(signature, args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so "
                           "operations that mutate operands in-place (e.g. via `out` arguments) are not supported")


def _fits(signature, args, kwargs):
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def create_type_hint(x: Any) -> Any:
    """The annotation for the types in a list or a tuple: the nearest class that all of them derive from.

    Arguments:
        x: a list or tuple of types, or a type

    Example:
        >>> torch.fx.operator_schemas.create_type_hint([int, int])
        typing.List[int]
    """
    if not isinstance(x, (list, tuple)):
        return x
    inner = [create_type_hint(each) for each in x]
    if not inner:
        element = Any
    else:
        element = next((kind for kind in inner if all(_is_subclass(each, kind) for each in inner)), Any)
    return typing.List[element] if isinstance(x, list) else typing.Tuple[element, ...]     # noqa: UP006


def _is_subclass(kind, other):
    return kind == other or (isinstance(kind, type) and isinstance(other, type) and issubclass(kind, other))


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type may be given where a signature has another.

    Arguments:
        signature_type: the type that a signature has
        argument_type: the type of an argument

    Example:
        >>> matches = torch.fx.operator_schemas.type_matches
        >>> matches(int, int), matches(int, str)
        (True, False)
    """
    if signature_type == argument_type:
        return True
    origin, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin in (typing.Union, UnionType):
        if typing.get_origin(argument_type) in (typing.Union, UnionType):
            return all(type_matches(signature_type, each) for each in typing.get_args(argument_type))
        return any(type_matches(each, argument_type) for each in inner)
    if origin is list:
        if inner == (int,) and argument_type is int:        # int[2] takes one number for all
            return True
        given = typing.get_args(argument_type)
        return typing.get_origin(argument_type) in (list, tuple) and all(
            each is Ellipsis or _is_subclass(each, inner[0]) for each in given)
    if signature_type is int and argument_type is mindtorch.dtype:      # dtypes are numbers in schemas
        return True
    return _is_subclass(argument_type, signature_type)


def normalize_function(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
                       arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
                       normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of a call in the form that its signature gives them, defaults filled in; None where none fits.

    normalize_to_only_use_kwargs: all by name; else those that the call gives by position stay there. arg_types and
    kwarg_types say of what types the arguments are. They are needed where several overloads fit, as
    RuntimeError then says.

    Arguments:
        target: what is called
        args: the arguments
        kwargs: the arguments by name
        arg_types: the types of the arguments, which choose among overloads
        kwarg_types: the types of the arguments by name
        normalize_to_only_use_kwargs: whether all arguments are given by name

    Example:
        >>> torch.fx.operator_schemas.normalize_function(
        ...     torch.sum, (torch.ones(2),), arg_types=(torch.Tensor,), normalize_to_only_use_kwargs=True).kwargs.keys()
        dict_keys(['input', 'dtype'])
    """
    kwargs = {} if kwargs is None else kwargs
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        try:
            signature = inspect.signature(inspect.unwrap(target))
        except (TypeError, ValueError):
            return None
        return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs, normalize_to_only_use_kwargs)
    fitting = [each for each in signatures if _fits(each, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            shown = "\n".join(map(str, fitting))
            raise RuntimeError(f"Tried to normalize arguments to {mindtorch.typename(target)} but the schema match was "
                               "ambiguous! Please provide argument types to the normalize_arguments() call. Available "
                               f"schemas:\n{shown}")
        fitting = [each for each in fitting if _types_fit(each, arg_types or (), kwarg_types or {})][:1]
    return _args_kwargs_to_normalized_args_kwargs(fitting[0], args, kwargs, normalize_to_only_use_kwargs
                                                  ) if fitting else None


def _types_fit(signature, arg_types, kwarg_types):
    bound = signature.bind(*arg_types, **kwarg_types).arguments
    return all(type_matches(signature.parameters[name].annotation, create_type_hint(kind))
               for name, kind in bound.items())


def normalize_module(root: Module, target: str, args: tuple[Any], kwargs: dict[str, Any] | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """normalize_function for a call of the submodule at `target`, by the signature of its forward.

    Arguments:
        root: a module or function
        target: what is called
        args: the arguments
        kwargs: the arguments by name
        normalize_to_only_use_kwargs: whether all arguments are given by name

    Example:
        >>> model = torch.nn.Sequential(torch.nn.ReLU())
        >>> torch.fx.operator_schemas.normalize_module(model, "0", (1,), normalize_to_only_use_kwargs=True)
        ArgsKwargsPair(args=(), kwargs={'input': 1})
    """
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(f"Tried to normalize arguments to module target {target} but root did not have that "
                           "target!") from None
    return _args_kwargs_to_normalized_args_kwargs(inspect.signature(module.forward), args, kwargs or {},
                                                  normalize_to_only_use_kwargs)


def _args_kwargs_to_normalized_args_kwargs(sig: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any],
                                           normalize_to_only_use_kwargs: bool) -> ArgsKwargsPair | None:
    """The arguments by a signature. None where it takes any number of them, or where some go by position alone."""
    by_position = [each.name for each in sig.parameters.values() if each.kind is _BY_POSITION]
    if any(each.kind not in (_BY_POSITION, _ANYWHERE, _BY_NAME) for each in sig.parameters.values()) or (
            by_position and by_position != ["input", "from_"]):
        return None
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    positional, named = [], {}
    for place, (name, parameter) in enumerate(sig.parameters.items()):
        if name in by_position or (parameter.kind is _ANYWHERE and place < len(args)
                                   and not normalize_to_only_use_kwargs):
            positional.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(positional), named)
