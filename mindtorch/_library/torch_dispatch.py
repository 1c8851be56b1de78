"""__torch_dispatch__: which operator of torch a call is, and the calls of handlers.

`_core` calls these once a class or a mode has a handler. A row of the op table is the operator of that name under
torch.ops.aten; one that torch has not is in the namespace torch.ops.mindtorch.
"""
import math
from functools import cache

from mindtorch._core import hooks
from mindtorch._core._gen.namespace import ATEN, NPU
from mindtorch._core._gen.rows import ROWS
from mindtorch._core.autograd.node import set_below_autograd
from mindtorch._core.tensor import torch_dispatch
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._library import registry
from mindtorch._library.aten import NamespaceOperators
from mindtorch._library.overloads import ops, overload_of
from mindtorch._ops.operators import ops as functions

__all__ = ["call_handlers", "overloaded_tensors", "register_rule"]

# Rows that torch has as forms of another operator, whose argument may be a number.
_FORMS = {f"{name}.Scalar": f"{name}.Tensor" for name in ("add", "sub", "mul", "div")} | {
    "floor_divide.Scalar": "floor_divide"}
_WITHOUT_DIM = {"sum.dim_IntList": "sum", "mean.dim": "mean"}         # without dim
# Rows that torch calls otherwise below autograd, and the further arguments there.
_CALLED = {"softmax.int": ("_softmax", {"half_to_float": False}),
           "log_softmax.int": ("_log_softmax", {"half_to_float": False})}

_rules = {}             # (name of an operator, class with a handler) -> rules, the last of which is in force


# --- handlers ---------------------------------------------------------------------------------------------------------

def overloaded_tensors(values, found=None):
    """A tensor of each class with a handler among values and lists in them, those of subclasses first."""
    found = [] if found is None else found
    for value in values:
        kind = type(value)
        if isinstance(value, TensorBase):
            if torch_dispatch.class_has_handler(kind) and all(type(known) is not kind for known in found):
                place = next((i for i, known in enumerate(found) if issubclass(kind, type(known))), len(found))
                found.insert(place, value)
        elif isinstance(value, (list, tuple)):
            overloaded_tensors(value, found)
    return found


def register_rule(qualname, kind, rule):
    """Call rule(mode or class, func, types, args, kwargs) for an operator in place of the handler of `kind`.

    Returns the list that it is in, and the rule.
    """
    rules = _rules.setdefault((qualname, kind), [])
    rules.append(rule)
    return rules, rule


def _dispatch_to(owner, kind, func, types, args, kwargs):
    rules = _rules.get((func.name(), kind)) if _rules else None
    if rules:
        return rules[-1](owner, func, types, args, kwargs)
    return owner.__torch_dispatch__(func, types, args, kwargs)


def call_handlers(func, args, kwargs):
    """Calls the handler of the innermost mode, or else of an argument's class. TypeError if none handles the call."""
    found = overloaded_tensors((*args, *kwargs.values()))
    types, mode = tuple(type(value) for value in found), None
    before = set_below_autograd(True)
    try:
        if torch_dispatch.current_modes():
            mode = torch_dispatch.pop_mode()
            try:
                result = _dispatch_to(mode, type(mode), func, types, args, kwargs)
            finally:
                torch_dispatch.push_mode(mode)
            if result is not NotImplemented:
                return result
        for value in found:
            result = _dispatch_to(type(value), type(value), func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    finally:
        set_below_autograd(before)
    who = [] if mode is None else [f"  - mode object {mode}"]
    who += [f"  - tensor subclass {kind}" for kind in types]
    raise TypeError(f"Multiple dispatch failed for 'torch._ops.{func}'; all __torch_dispatch__ handlers returned "
                    "NotImplemented:\n\n" + "\n".join(who) +
                    "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


@cache
def _overload(name):
    return overload_of(name if "::" in name else f"aten::{name}")


def _call(name, args, kwargs):
    func = _overload(name)
    bound = func._operator.binder.bind(args, kwargs or {})
    return call_handlers(func, *bound)


# --- rows -------------------------------------------------------------------------------------------------------------

# What rows call an argument that has another name in torch: `from` is a word of Python, and in the rows of derivatives
# `grad` means another gradient.
_RENAMED = {"from_": "from", "grad_output": "grad"}


@cache
def _parameters(key):
    """(type, name) of each parameter of a row."""
    arguments = ROWS[key]["arguments"]
    return [tuple(one.rsplit(" ", 1)) for one in arguments.split(", ")] if arguments else []


def _own_schemas(name):
    """The schemas of rows of a name that torch does not have."""
    for key, row in ROWS.items():
        if key.partition(".")[0] == name:
            results = ", ".join(["Tensor"] * row["results"])
            written = "(a!)" if row.get("inplace_only") else ""
            arguments = row["arguments"].replace("Tensor self", f"Tensor{written} self", 1)
            returned = results if row["results"] == 1 else f"({results})"
            yield f"{key}({arguments}) -> {f'Tensor{written}' if written else returned}"


class _RowOperators(NamespaceOperators):
    def texts(self):
        return {name: list(_own_schemas(name)) for name in {key.partition(".")[0] for key in ROWS}}


registry.provide("mindtorch", _RowOperators("mindtorch", lambda name: ATEN[name] if name in ATEN else NPU[name]))


@cache
def _operator_of(key, inplace, has_outs):
    """(the overload that a row is in torch, the arguments that it has besides those of the row)."""
    key = _FORMS.get(key, key)
    key, more = _CALLED.get(key, (key, {}))
    base, _, overload = key.partition(".")
    base += "_" if inplace and not base.endswith("_") else ""
    namespace = ops.aten if hasattr(ops.aten, base) else ops.mindtorch
    packet = getattr(namespace, base)
    if not has_outs:
        return getattr(packet, overload or "default"), more
    names = [argument.name for argument in getattr(packet, overload or "default")._schema.arguments]
    for form in (getattr(packet, each) for each in packet.overloads()):
        arguments = form._schema.arguments
        if [a.name for a in arguments if not a.is_out] == names and any(a.is_out for a in arguments):
            return form, more
    raise NotImplementedError(f"{packet} has no form with out= that handlers of __torch_dispatch__ could be given")


def _call_row(key, values, outs, inplace):
    given = {name: None if kind == "int[]?" and value == [] else value
             for (kind, name), value in zip(_parameters(key), values, strict=True)}
    if key in _WITHOUT_DIM and given["dim"] is None and not given["keepdim"] and not outs:
        key = _WITHOUT_DIM[key]
    func, more = _operator_of(key, inplace, bool(outs))
    given.update(more)
    if more and given["dtype"] is not None:
        given["self"] = given["self"].to(given["dtype"])
    arguments, left = func._schema.arguments, list(outs)
    for own, theirs in _RENAMED.items():
        if own in given and any(argument.name == theirs for argument in arguments):
            given.setdefault(theirs, given[own])
    values = [left.pop(0) if a.is_out and left else given.get(a.name, a.default_value) for a in arguments]
    result = call_handlers(func, *func._operator.binder._without_defaults(values))
    if inplace or outs:
        return result
    return func._operator.checked(result)


# --- rows that torch composes of others -------------------------------------------------------------------------------

def _matmul(self, other):
    """The product as dot, mv, mm and bmm, as torch composes it."""
    n, m = self.dim(), other.dim()
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return functions.dot(self, other)
    if n == 2 and m == 1:
        return functions.mv(self, other)
    if n == 1 and m == 2:
        return functions.mm(self.unsqueeze(0), other).squeeze(0)
    if n == 2 and m == 2:
        return functions.mm(self, other)
    if m <= 2 and n >= 3:                       # one matrix, or vector, for all: the batch is rows of a matrix
        rows = self.reshape(math.prod(self.shape[:-1]), self.shape[-1])
        product = functions.mv(rows, other) if m == 1 else functions.mm(rows, other)
        return product.view(*self.shape[:-1], *other.shape[1:])
    if n <= 2 and m >= 3:
        columns = self.unsqueeze(0) if n == 1 else self
        product = _matmul(other.mT, columns.mT).mT
        return product.squeeze(-2) if n == 1 else product
    batch = functions.broadcast_shapes(self.shape[:-2], other.shape[:-2])
    left, right = (each.expand(*batch, *each.shape[-2:]).reshape(math.prod(batch), *each.shape[-2:])
                   for each in (self, other))
    return functions.bmm(left, right).view(*batch, self.shape[-2], other.shape[-1])


hooks.call_torch_dispatch, hooks.call_torch_dispatch_of_row = _call, _call_row
hooks.decompositions_for_dispatch = {"matmul": _matmul}
