"""__torch_function__ made active: what has no entry of _core/torch_function.pyx by itself gets one here.

A Python function keeps its identity, for `from torch import stack` may have handed it out already: its code is
exchanged for one that asks first, and the code that it had lives on in another function.
"""
import inspect
import sys
from contextlib import nullcontext
from importlib import import_module
from types import FunctionType

from mindtorch._core import torch_function

# What is not asked for: it does not work on tensors, or is made of methods that ask.
_METHODS_NOT_ASKED = {
    "__new__", "__init_subclass__", "__torch_function__", "__iter__", "__copy__", "_make_subclass", "_only_element",
    "_new", "as_subclass", "new"}
_FUNCTIONAL_NOT_ASKED = {"assert_int_or_pair", "upsample", "upsample_bilinear", "upsample_nearest"}
_FACTORIES = ("arange", "empty", "empty_like", "full", "full_like", "linspace", "ones", "ones_like", "zeros",
              "zeros_like")
_OF_DATA = ("as_tensor", "asarray", "frombuffer", "scalar_tensor", "tensor")        # their arguments are not asked

# Slots of OPERATORS -> the methods that torch hands over: with the operands in order, and swapped.
OPERATORS = {
    "add": ("add", "add"), "sub": ("sub", "__rsub__"), "mul": ("mul", "mul"), "truediv": ("div", "__rtruediv__"),
    "floordiv": ("__floordiv__", "__rfloordiv__"), "mod": ("remainder", "__rmod__"),
    "matmul": ("matmul", "__rmatmul__"), "pow": ("__pow__", "__rpow__"), "and_": ("__and__", "bitwise_and"),
    "or_": ("__or__", "bitwise_or"), "xor": ("__xor__", "bitwise_xor"), "lshift": ("__lshift__", "__rlshift__"),
    "rshift": ("__rshift__", "__rrshift__"), "lt": ("lt", "gt"), "le": ("le", "ge"), "gt": ("gt", "lt"),
    "ge": ("ge", "le"), "eq": ("__eq__", "__eq__"), "ne": ("ne", "ne"), "neg": ("neg",), "abs": ("abs",),
    "invert": ("__invert__",), "iadd": ("add_",), "isub": ("sub_",), "imul": ("mul_",), "itruediv": ("div_",),
    "ipow": ("__ipow__",), "ifloordiv": ("floor_divide_",), "imod": ("remainder_",), "iand": ("__iand__",),
    "ior": ("__ior__",), "ixor": ("__ixor__",), "ilshift": ("__ilshift__",), "irshift": ("__irshift__",),
    "getitem": ("__getitem__",), "setitem": ("__setitem__",)}


def spaces():
    """The namespaces whose functions ask -> their names: torch and Tensor, and modules below torch."""
    import mindtorch
    own = {name for table in mindtorch._OPERATOR_TABLES for name in table.FUNCTIONS}
    own |= {*_FACTORIES, *_OF_DATA, *mindtorch._FUNCTIONS_OF_NETWORKS, *mindtorch._refusals.FUNCTIONS}
    found = {mindtorch: sorted(own)}
    functional = import_module("mindtorch.nn.functional")
    found[functional] = [name for name, value in vars(functional).items()
                         if not name.startswith("__") and name not in _FUNCTIONAL_NOT_ASKED and _is_function(value)]
    for name in ("linalg", "fft", "special"):
        module = import_module(f"mindtorch.{name}")
        public = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        found[module] = [name for name in public if _is_function(getattr(module, name))]
    found[mindtorch.Tensor] = [name for name, value in vars(mindtorch.Tensor).items()
                               if name not in _METHODS_NOT_ASKED and (isinstance(value, property)
                                                                      or _is_function(value))]
    return found


def _is_function(value):
    return callable(value) and not isinstance(value, type)


def install():
    """Entries for everything that asks; called once, by torch_function.activate()."""
    profiled = sys.modules.get("mindtorch.autograd._profiled_functions")
    with nullcontext() if profiled is None else profiled.left():
        _install_all()


def _install_all():
    import mindtorch
    for name in _OF_DATA:
        _exchange_code(getattr(mindtorch, name), of_data=True)
    for space, names in spaces().items():
        for name in names:
            value = vars(space).get(name) or getattr(space, name)
            if isinstance(value, property):
                _install_property(value)
            else:
                _install(value)
    torch_function.unpacks(mindtorch.einsum, _operands_unpacked)
    for slot, methods in OPERATORS.items():
        torch_function.ask_through(slot, *(getattr(mindtorch.Tensor, method) for method in (methods * 2)[:2]))


def _operands_unpacked(args):
    """einsum(equation, [a, b]) as einsum(equation, a, b)."""
    return (args[0], *args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else args


def _install_property(value):
    for function, public in ((value.fget, value.__get__), (value.fset, value.__set__)):
        if function is not None:
            _install(function)
            torch_function.known_as(function, public)


def _install(function):
    if isinstance(function, FunctionType):
        _exchange_code(function)
    elif not torch_function.install(function):
        raise TypeError(f"{function!r} cannot be made to ask")


# --- functions written in Python -------------------------------------------------------------------------------------

# What warnings skip when they look for the line to name, as they skip frames of the import system.
_SKIPPED = "<mindtorch._overriding, no more of interest than importlib._bootstrap>"


def _asking(*args, **kwargs):
    asks, ask, plain = "asks", "ask", "plain"
    if asks(args, kwargs):
        return ask(args, kwargs)
    return plain(*args, **kwargs)


def _modes_ask(args, kwargs):
    return torch_function.asks((), {})


def _exchange_code(function, of_data=False):
    """`function` asks from now on; what it was is its `__wrapped__`, which has the signature."""
    code = function.__code__
    if code.co_code == _asking.__code__.co_code:
        return
    plain = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    plain.__kwdefaults__, plain.__doc__ = function.__kwdefaults__, function.__doc__
    plain.__module__, plain.__qualname__ = function.__module__, function.__qualname__
    plain.__dict__.update(function.__dict__)

    def ask(args, kwargs):
        relevant = () if of_data else (*args, *kwargs.values())
        return torch_function.ask_among(function, relevant, *_as_declared(plain, args, kwargs))

    entry, values = _asking.__code__, (_modes_ask if of_data else torch_function.asks, ask, plain)
    function.__wrapped__ = plain
    function.__code__ = entry.replace(
        co_consts=tuple(values if constant == ("asks", "ask", "plain") else constant for constant in entry.co_consts),
        co_freevars=code.co_freevars, co_name=code.co_name, co_qualname=code.co_qualname, co_filename=_SKIPPED)


def _as_declared(plain, args, kwargs):
    """The arguments as torch hands them over: those with a default by name, whether given or not."""
    bound = inspect.signature(plain).bind(*args, **kwargs)
    parameters = bound.signature.parameters
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
        return args, kwargs
    bound.apply_defaults()
    positional, named = [], {}
    for name, value in bound.arguments.items():
        parameter = parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named

