"""Makes functions overridable by __torch_function__ that _core/python/torch_function.pyx does not make so itself.

A Python function must stay the same object, because `from torch import stack` may have copied the reference. So this
replaces its code by code that calls __torch_function__ first; a second function keeps the original code.
"""
import inspect
import sys
from contextlib import nullcontext
from importlib import import_module
from types import FunctionType

from mindtorch._core.python import torch_function

# Not overridable: they take no tensors, or call methods that are overridable.
_IGNORED_METHODS = {
    "__new__", "__init_subclass__", "__torch_function__", "__iter__", "__copy__", "_make_subclass", "_only_element",
    "_new", "as_subclass", "new"}
_IGNORED_FUNCTIONAL = {"assert_int_or_pair", "upsample", "upsample_bilinear", "upsample_nearest"}
_FACTORIES = ("arange", "empty", "empty_like", "full", "full_like", "linspace", "ones", "ones_like", "zeros",
              "zeros_like")
_DATA_FACTORIES = ("as_tensor", "asarray", "frombuffer", "scalar_tensor", "tensor")      # only modes override these

# Slots of OPERATORS -> the methods that torch passes to __torch_function__: operands in order, and reflected.
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


def namespaces():
    """{namespace: names of its overridable functions}, for torch, Tensor and modules below torch."""
    import mindtorch
    own = {name for table in mindtorch._OPERATOR_TABLES for name in table.FUNCTIONS}
    own |= {*_FACTORIES, *_DATA_FACTORIES, *mindtorch._FUNCTIONS_OF_NETWORKS, *mindtorch._refusals.FUNCTIONS}
    found = {mindtorch: sorted(own)}
    functional = import_module("mindtorch.nn.functional")
    found[functional] = [name for name, value in vars(functional).items()
                         if not name.startswith("__") and name not in _IGNORED_FUNCTIONAL and _is_function(value)]
    for name in ("linalg", "fft", "special"):
        module = import_module(f"mindtorch.{name}")
        public = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        found[module] = [name for name in public if _is_function(getattr(module, name))]
    found[mindtorch.Tensor] = [name for name, value in vars(mindtorch.Tensor).items()
                               if name not in _IGNORED_METHODS and (isinstance(value, property)
                                                                      or _is_function(value))]
    return found


def _is_function(value):
    return callable(value) and not isinstance(value, type)


def install():
    """Makes everything overridable; torch_function.activate() calls it once."""
    profiled = sys.modules.get("mindtorch.autograd._profiled_functions")
    with nullcontext() if profiled is None else profiled.left():
        _install_all()


def _install_all():
    import mindtorch
    for name in _DATA_FACTORIES:
        _replace_code(getattr(mindtorch, name), modes_only=True)
    for namespace, names in namespaces().items():
        for name in names:
            value = vars(namespace).get(name) or getattr(namespace, name)
            if isinstance(value, property):
                _install_property(value)
            else:
                _install(value)
    torch_function.register_unpacker(mindtorch.einsum, _unpack_operands)
    for slot, methods in OPERATORS.items():
        torch_function.register_operator_functions(slot, *(getattr(mindtorch.Tensor,
                                                                   method) for method in (methods * 2)[:2]))


def _unpack_operands(args):
    """einsum(equation, [a, b]) as einsum(equation, a, b)."""
    return (args[0], *args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else args


def _install_property(value):
    for function, public in ((value.fget, value.__get__), (value.fset, value.__set__)):
        if function is not None:
            _install(function)
            torch_function.register_public_function(function, public)


def _install(function):
    if isinstance(function, FunctionType):
        _replace_code(function)
    elif not torch_function.install_entry(function):
        raise TypeError(f"{function!r} cannot be made overridable")


# --- functions written in Python -------------------------------------------------------------------------------------

# A file name that the warnings module skips when it looks for the caller.
_SKIPPED = "<mindtorch._tensor.function_overrides, skipped like importlib._bootstrap>"


def _entry(*args, **kwargs):
    asks, ask, original = "asks", "ask", "original"
    if asks(args, kwargs):
        return ask(args, kwargs)
    return original(*args, **kwargs)


def _mode_is_active(args, kwargs):
    return torch_function.has_torch_function((), {})


def _replace_code(function, modes_only=False):
    """Makes `function` call __torch_function__ first. Its `__wrapped__` is the original with the signature."""
    code = function.__code__
    if code.co_code == _entry.__code__.co_code:
        return
    original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    original.__kwdefaults__, original.__doc__ = function.__kwdefaults__, function.__doc__
    original.__module__, original.__qualname__ = function.__module__, function.__qualname__
    original.__dict__.update(function.__dict__)

    def ask(args, kwargs):
        relevant = () if modes_only else (*args, *kwargs.values())
        return torch_function.handle_python_function(function, relevant, *_normalize_arguments(original, args, kwargs))

    entry, values = _entry.__code__, (_mode_is_active if modes_only else torch_function.has_torch_function, ask,
                                      original)
    function.__wrapped__ = original
    function.__code__ = entry.replace(
        co_consts=tuple(values if constant == ("asks", "ask", "original") else constant
                        for constant in entry.co_consts),
        co_freevars=code.co_freevars, co_name=code.co_name, co_qualname=code.co_qualname, co_filename=_SKIPPED)


def _normalize_arguments(original, args, kwargs):
    """(args, kwargs) as torch passes them: parameters with a default as keywords, whether given or not."""
    bound = inspect.signature(original).bind(*args, **kwargs)
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

