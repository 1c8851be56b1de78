"""A schema from the annotations of a Python function."""
import inspect
import types
import typing
from collections.abc import Sequence

from mindtorch._core.tensor.dtype import dtype
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.tensor import device as Device
from mindtorch._tensor import Tensor

__all__ = ["infer_schema", "mutated_names"]

_NUMBER = int | float | bool
# Annotation -> what schemas call it, and whether lists and optional lists of it may be given.
_PARAMETERS = {Tensor: ("Tensor", True, False), int: ("SymInt", True, True), float: ("float", True, True),
               bool: ("bool", True, True), str: ("str", False, False), _NUMBER: ("Scalar", True, True),
               dtype: ("ScalarType", False, False), Device: ("Device", False, False)}
_RETURNS = {Tensor: "Tensor", list[Tensor]: "Tensor[]", int: "SymInt", float: "float", bool: "bool",
            _NUMBER: "Scalar"}


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema that the annotations of a function say, as text: "(Tensor x, float y=1.0) -> Tensor".

    `mutates_args` names the tensors that the function writes to, or is "unknown": all of them may be. Parameters are
    tensors, numbers, strings, dtypes, devices, lists and optional ones; results tensors, lists of them and numbers.
    ValueError for what no schema can say.

    Arguments:
        tags: not read
        prototype_function: the function with its annotations
        op_name: the name before the schema; None means none

    Example:
        >>> def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        ...     return x * factor
        >>> torch.library.infer_schema(scaled, mutates_args=())
        '(Tensor x, float factor) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")
    if not (mutates_args == "unknown" or not isinstance(mutates_args, str)):
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or "
                         "the string 'unknown'. ")
    names = _names_in(prototype_function)
    parts, seen_keyword = [], False
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_keyword:
            seen_keyword = True
            parts.append("*")
        parts.append(_parameter(place, name, parameter, mutates_args, names, fail))
    unknown = [] if mutates_args == "unknown" else [name for name in mutates_args if name not in signature.parameters]
    if unknown:
        fail(f"{unknown} in mutates_args were not found in the parameters of the function.")
    if signature.return_annotation is signature.empty:
        fail("No return type annotation was provided. Please add one.")
    result = _result(_evaluated(signature.return_annotation, names, fail), fail)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def mutated_names(schema):
    """The arguments that a schema says are written to."""
    return {argument.name for argument in schema.arguments if argument.is_write}


def _names_in(function):
    """Where the annotations that are strings are looked up."""
    return getattr(inspect.unwrap(function), "__globals__", {})


def _evaluated(annotation, names, fail):
    if isinstance(annotation, str):
        try:
            return eval(annotation, dict(names))
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            fail(f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from "
                 "__future__ import annotations', note that annotations are evaluated lazily as strings; make sure all "
                 "types referenced in annotations are importable at module scope, not only inside a local function.")
    return annotation


def _parameter(place, name, parameter, mutates_args, names, fail):
    if parameter.annotation is parameter.empty:
        fail(f"Parameter {name} must have a type annotation.")
    annotation = _evaluated(parameter.annotation, names, fail)
    text = _type_text(annotation)
    if text is None:
        if typing.get_origin(annotation) is tuple:
            fail(f"Parameter {name} has unsupported type {annotation}. We do not support Tuple inputs in schema. As a "
                 f"workaround, please try to use List instead. For example, {_as_list(annotation)}.\n\n{_VALID}.")
        fail(f"Parameter {name} has unsupported type {annotation}. {_VALID}.")
    if mutates_args == "unknown":
        text = text.replace("Tensor", f"Tensor(a{place}!)", 1)
    elif name in mutates_args:
        if not text.startswith("Tensor"):
            fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        text = text.replace("Tensor", f"Tensor(a{place}!)", 1)
    if parameter.default is parameter.empty:
        return f"{text} {name}"
    return f"{text} {name}={_default_text(name, parameter.default, fail)}"


def _as_list(annotation):
    kinds = {kind for kind in typing.get_args(annotation) if kind is not Ellipsis}
    return list[kinds.pop()] if len(kinds) == 1 else list[typing.Union[tuple(kinds)]]       # noqa: UP007 - of a tuple


def _default_text(name, value, fail):
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, Device):
        return f'"{value}"'
    if value is None or isinstance(value, (int, float, bool)):
        return str(value)
    return fail(f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub "
                "so we can prioritize this.")


def _type_text(annotation):
    """The schema type of an annotation, None if there is none."""
    inner = _of_optional(annotation)
    if inner is not None:
        element = _of_list(inner)
        if element is not None:
            known = _known(element)
            return f"{known[0]}[]?" if known and known[2] else None
        known = _known(inner)
        return f"{known[0]}?" if known else None
    element = _of_list(annotation)
    if element is not None:
        if _of_optional(element) in (Tensor, TensorBase):
            return "Tensor?[]"
        known = _known(element)
        return f"{known[0]}[]" if known and known[1] else None
    known = _known(annotation)
    return known[0] if known else None


def _known(annotation):
    annotation = _without_typing(annotation)
    try:
        return _PARAMETERS.get(annotation)
    except TypeError:
        return None


def _without_typing(annotation):
    """typing.Union[int, float, bool] as int | float | bool, TensorBase as Tensor."""
    if annotation is TensorBase:
        return Tensor
    return _NUMBER if set(typing.get_args(annotation)) == {int, float, bool} and _is_union(annotation) else annotation


def _is_union(annotation):
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _of_optional(annotation):
    """X of Optional[X], None for what is not optional."""
    kinds = typing.get_args(annotation)
    if not _is_union(annotation) or type(None) not in kinds:
        return None
    others = tuple(kind for kind in kinds if kind is not type(None))
    return others[0] if len(others) == 1 else typing.Union[others]      # noqa: UP007 - of a tuple


def _of_list(annotation):
    """X of list[X] or Sequence[X], None for what is neither."""
    if typing.get_origin(annotation) in (list, Sequence):
        return typing.get_args(annotation)[0]
    return None


def _result(annotation, fail):
    if annotation is None or annotation is type(None) or annotation == tuple[()]:
        return "()"
    if typing.get_origin(annotation) is tuple:
        return f"({', '.join(_result_text(kind, fail) for kind in typing.get_args(annotation))})"
    return _result_text(annotation, fail)


def _result_text(annotation, fail):
    element = _of_list(annotation)
    plain = list[element] if element is not None else _without_typing(annotation)
    text = _RETURNS.get(plain)
    return text or fail(f"Return has unsupported type {annotation}. The valid types are: {_RETURNS}.")


_VALID = ("The valid types are: " + ", ".join(
    getattr(kind, "__name__", str(kind)) for kind in _PARAMETERS) + ", lists and optional ones of them")
