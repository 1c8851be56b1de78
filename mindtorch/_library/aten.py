"""torch.ops.aten and torch.ops.npu: mindtorch's own operators, by the schemas that torch and torch_npu give them.

An operator's function is the one that the torch namespace, Tensor or torch.nn.functional offers: one path, whichever
name it is called by. Schemas are those of the op table and of _ops/aten.txt.
"""
from functools import cache
from importlib import import_module
from keyword import iskeyword

import mindtorch
from mindtorch._core._gen.namespace import ATEN, NPU
from mindtorch._core._gen.schemas import SCHEMAS
from mindtorch._library import aten_functions, registry
from mindtorch._library.schema import parse_schema

__all__ = ["NamespaceOperators"]

# Operators whose rows have one overload each; the functions of the torch namespace take all overloads.
_WIDER = ("std", "std_mean", "var", "var_mean")
# Arguments that must be greater than zero in every operator.
_POSITIVE = ("kernel_size", "stride", "dilation")
_FOLDERS = {"fft_": "mindtorch.fft", "linalg_": "mindtorch.linalg", "special_": "mindtorch.special"}


class NamespaceOperators:
    """The operators of one namespace, created on demand."""

    def __init__(self, namespace, function_of):
        self._namespace, self._function_of = namespace, function_of

    @cache      # noqa: B019 - two objects, which live as long as the process
    def texts(self):
        """Name -> the schemas of its overloads."""
        texts = {}
        for line in SCHEMAS[self._namespace].splitlines():
            if line:
                texts.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
        return texts

    def names(self):
        """The names of all operators."""
        return list(self.texts())

    def __call__(self, name):
        """(schema, kernel) of each overload of a name."""
        for text in self.texts().get(name, ()):
            schema = parse_schema(f"{self._namespace}::{text}")
            yield schema, _kernel(schema, self._function_of(name), name in ATEN)


def _function_of(name):
    """The function that implements aten::name."""
    if name in _WIDER:
        return getattr(mindtorch, name)
    for table in (vars(aten_functions), ATEN):
        if name in table:
            return table[name]
    for prefix, module in _FOLDERS.items():
        if name.startswith(prefix):
            return getattr(import_module(module), name.removeprefix(prefix))
    for owner in (mindtorch, mindtorch.Tensor, mindtorch.nn.functional):
        if hasattr(owner, name):
            return getattr(owner, name)
    raise AttributeError(f"mindtorch has no function for aten::{name}")


def _kernel(schema, function, raw):
    """Calls `function` by its schema: required arguments by position, those with a default by keyword.

    A raw one is the row's own, which torch.nn.functional calls with arguments that it has checked.
    """
    names = [argument.name for argument in schema.positional]
    required = sum(not a.default or iskeyword(a.name) for a in schema.positional)
    outs = [argument.name for argument in schema.arguments if argument.is_out]
    sized = _length_check(schema) if raw else None
    as_list = len(schema.returns) == 1 and schema.returns[0].type.kind == "list"
    count = len(schema.returns)

    def kernel(*args, **kwargs):
        if outs:
            given = [kwargs.pop(name) for name in outs]
            kwargs["out"] = given[0] if len(given) == 1 else tuple(given)
        if sized:
            args = sized(args)
        kwargs.update(zip(names[required:], args[required:], strict=False))
        result = function(*args[:required], **kwargs)
        if count == 0:
            return None
        if as_list:
            return list(result)
        return tuple(result) if count > 1 else result
    return kernel


def _length_check(schema):
    """A function that checks the lengths of int[N] arguments, which kernels rely on; None if the schema has none.

    For pooling, one number is repeated and an empty stride means the kernel size. RuntimeError for other lengths.
    """
    places = {i: a for i, a in enumerate(schema.positional) if (a.N or 0) > 1 and a.type.leaf in ("int", "SymInt")}
    names = {argument.name: place for place, argument in places.items()}
    pool = "_pool" in schema.name and "stride" in names

    def check_lengths(args):
        args = [*args, *[argument.default_value for argument in schema.positional[len(args):max(places) + 1]]]
        if pool and args[names["stride"]] == []:
            args[names["stride"]] = args[names["kernel_size"]]
        for place, argument in places.items():
            if pool and len(args[place]) == 1:
                args[place] = args[place] * argument.N
            if args[place] is not None and len(args[place]) != argument.N:
                raise RuntimeError(f"It is expected {argument.name} equals to {argument.N}, but got size "
                                   f"{len(args[place])}")
            if argument.name in _POSITIVE and args[place] is not None and min(args[place]) <= 0:
                raise RuntimeError(f"{argument.name} should be greater than zero, but got {args[place]}")
        return args
    return check_lengths if places else None


registry.provide("aten", NamespaceOperators("aten", _function_of))
registry.provide("npu", NamespaceOperators("npu", NPU.__getitem__))
