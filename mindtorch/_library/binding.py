"""Binds and converts the arguments of a call by the operator's schema."""
from numbers import Integral, Number, Real

from mindtorch._core.formats import layout, memory_format
from mindtorch._core.tensor.dtype import dtype
from mindtorch._core.tensor.generator import Generator
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.tensor import device as Device

__all__ = ["Binder"]


class _CastError(Exception):
    """The error for a value that does not match a type."""


def _wrong(value, wanted):
    raise _CastError(f"Unable to cast Python instance of type {type(value)} to {wanted}")


def _tensor(value):
    if not isinstance(value, TensorBase):
        raise _CastError(f"Unable to cast {value} to Tensor")
    return value


def _number(value):
    if not isinstance(value, Number):
        raise _CastError(f"Cannot cast {value} to number")
    return value


def _int(value):
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, TensorBase) and value.numel() == 1 and not value.is_complex():
        return int(value.item())
    return _wrong(value, "int")


def _float(value):
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, TensorBase) and value.numel() == 1:
        return float(value.item())
    return _wrong(value, "float")


def _bool(value):
    return bool(value) if value is None or isinstance(value, (bool, Integral)) else _wrong(value, "bool")


def _complex(value):
    return complex(value) if isinstance(value, Number) else _wrong(value, "complex")


def _device(value):
    return Device(value) if isinstance(value, (str, Device, int)) else _wrong(value, "Device")


def _instance(kind):
    return lambda value: value if isinstance(value, kind) else _wrong(value, kind.__name__)


_CASTS = {"Tensor": _tensor, "Scalar": _number, "int": _int, "SymInt": _int, "float": _float, "bool": _bool,
          "SymBool": _bool, "complex": _complex, "str": _instance(str), "Device": _device, "DeviceIndex": _int,
          "ScalarType": _instance(dtype), "Layout": _instance(layout), "MemoryFormat": _instance(memory_format),
          "Generator": _instance(Generator)}


# Operators of arithmetic, which take a number for a tensor.
_ACCEPT_NUMBERS = {f"aten::{name}{form}" for form in ("", "_") for name in (
    "add", "sub", "mul", "div", "floor_divide", "multiply", "divide", "subtract", "true_divide")}


def _tensor_or_number(value):
    return value if isinstance(value, Number) else _tensor(value)


def _as_is(value):
    return value


def _cast_for(kind):
    """The function that converts to a type."""
    if kind.kind == "base":
        return _CASTS.get(kind.base, _as_is)
    inner = _cast_for(kind.inner)
    if kind.kind == "optional":
        return lambda value: None if value is None else inner(value)
    size = kind.size if kind.leaf in ("int", "SymInt", "float") else None

    def cast(value):
        if isinstance(value, (list, tuple)):
            try:
                return [inner(item) for item in value]
            except _CastError:
                return _wrong(value, kind)
        if size and isinstance(value, Number):
            return [inner(value)] * size
        return _wrong(value, kind)
    return cast


class Binder:
    """Binds calls of one schema. RuntimeError, in torch's words, for what does not fit."""

    def __init__(self, schema):
        self.schema, self.short = schema, f"{schema.name}()"
        self.entries = [(a, _cast_for(a.type)) for a in schema.arguments]
        self.positional = len(schema.positional)
        if schema.name in _ACCEPT_NUMBERS and self.positional > 1 and schema.arguments[1].type.leaf == "Tensor":
            self.entries[1] = (schema.arguments[1], _tensor_or_number)

    def bind(self, args, kwargs):
        """(arguments by position, those by keyword): converted, without those that end the list with their default."""
        if len(args) > self.positional:
            self._too_many(len(args))
        left, values = dict(kwargs), []
        for place, (argument, cast) in enumerate(self.entries):
            if place < len(args) and not argument.kwarg_only:
                values.append(self._converted(argument, cast, args[place], place))
            elif argument.name in left:
                values.append(self._converted(argument, cast, left.pop(argument.name), place))
            elif argument.default:
                values.append(argument.default_value)
            else:
                raise RuntimeError(f"{self.short} is missing value for argument '{argument.name}'. Declaration: "
                                   f"{self.schema}")
        for name in left:
            if any(argument.name == name for argument, _ in self.entries):
                raise RuntimeError(f"Argument '{name}' specified both as positional and keyword argument. Schema: "
                                   f"{self.schema}")
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.schema.name}'. Schema: "
                               f"{self.schema}")
        return self._without_defaults(values)

    def filled(self, args, kwargs):
        """All bound arguments: first the positional, then the keyword-only ones."""
        values = [args[i] if i < len(args) else argument.default_value
                  for i, (argument, _) in enumerate(self.entries[:self.positional])]
        others = {argument.name: kwargs.get(argument.name, argument.default_value)
                  for argument, _ in self.entries[self.positional:]}
        return tuple(values), others

    def _without_defaults(self, values):
        count = self.positional
        while count and _is_default(self.entries[count - 1][0], values[count - 1]):
            count -= 1
        pairs = zip(self.entries[self.positional:], values[self.positional:], strict=True)
        return tuple(values[:count]), {a.name: value for (a, _), value in pairs if not _is_default(a, value)}

    def _too_many(self, given):
        if self.positional < len(self.entries):
            raise RuntimeError(f"{self.short} takes {self.positional} positional argument(s) but {given} was/were "
                               f"given.  Declaration: {self.schema}")
        raise RuntimeError(f"{self.short} expected at most {self.positional} argument(s) but received {given} "
                           f"argument(s). Declaration: {self.schema}")

    def _converted(self, argument, cast, value, place):
        if value is None and argument.type.kind == "base" and argument.type.base == "Tensor":
            raise RuntimeError("Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument "
                               f"#{place} '{argument.name}'")
        try:
            return cast(value)
        except _CastError as error:
            raise RuntimeError(
                f"{self.short} Expected a value of type '{argument.type}' for argument '{argument.name}' but instead "
                f"found type '{type(value).__name__}'.\nPosition: {place}\nValue: {value!r}\n"
                f"Declaration: {self.schema}\nCast error details: {error}") from None


def _is_default(argument, value):
    if not argument.default or isinstance(value, TensorBase):
        return False
    default = argument.default_value
    return value is default or (type(value) is type(default) and value == default)
