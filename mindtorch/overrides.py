"""torch.overrides: classes that stand in for tensors, by a method __torch_function__ of their own, and modes."""
from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import FunctionType
from typing import Any, Self

from mindtorch._core.python import torch_function
from mindtorch._core.python.torch_function import OPERATOR_METHODS, OverridableFunction
from mindtorch._tensor import Tensor

__all__ = ["get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
           "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "redispatch_function",
           "resolve_name", "wrap_torch_function"]

torch_function.activate()           # who imports this is about to use it


class TorchFunctionMode:
    """Within `with mode:` every function asks mode.__torch_function__ first, whatever its arguments are.

    While the mode answers it is not in force: what it calls asks the modes around it.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        torch_function.push_mode(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        torch_function.pop_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    return next(iter(_get_current_function_mode_stack()[::-1]), None)


def _get_current_function_mode_stack():
    return torch_function.current_modes()


_redispatching = threading.local()      # call: the next question is the redispatched function's own


def _has_torch_function(args):
    if getattr(_redispatching, "call", False):
        _redispatching.call = False
        return False
    return torch_function.has_torch_function(args, {})


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
    """func(*args, **kwargs) without the handlers of classes; those of what a function in Python calls are asked.

    Arguments:
        func: the function or method
        types: not read
        args: its arguments
        kwargs: its arguments by name

    Example:
        >>> class Sub(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
        >>> torch.neg(torch.ones(1).as_subclass(Sub)).tolist()
        neg
        [-1.0]
    """
    plain = getattr(func, "__wrapped__", None)
    if isinstance(plain, FunctionType):
        return plain(*args, **(kwargs or {}))
    if isinstance(func, FunctionType):          # it asks by itself, and is told to go on
        _redispatching.call = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            _redispatching.call = False
    with torch_function.DisableTorchFunction():
        return func(*args, **(kwargs or {}))


def is_tensor_like(inp: Any) -> Any:
    """Whether `inp` is a Tensor, or of a class that has __torch_function__.

    Arguments:
        inp: any object

    Example:
        >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like([1])
        (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Any) -> Any:
    """Whether a mode is in force, or one of the arguments is of a class that wants to be asked, as Tensor does not.

    Arguments:
        relevant_args: the arguments

    Example:
        >>> torch.overrides.has_torch_function((torch.ones(1), 3))
        False
    """
    if not isinstance(relevant_args, Sequence):
        raise TypeError("expected a sequence")
    return _has_torch_function(tuple(relevant_args))


def has_torch_function_unary(relevant_arg: Any) -> Any:
    """has_torch_function of one argument.

    Example:
        >>> torch.overrides.has_torch_function_unary(torch.ones(1))
        False
    """
    return _has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args: Any) -> Any:
    """has_torch_function of the arguments given.

    Example:
        >>> torch.overrides.has_torch_function_variadic(torch.ones(1), 3)
        False
    """
    return _has_torch_function(relevant_args)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call handlers until one returns a result: that of the active mode, then those of subclasses before their bases.

    TypeError if all return NotImplemented.

    Arguments:
        public_api: the function
        relevant_args: the arguments that may have `__torch_function__`
        *args: the arguments of the function
        **kwargs: the arguments of the function by name

    Example:
        >>> class Logged:
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return f"asked for {func.__name__}"
        >>> def double(x):
        ...     if torch.overrides.has_torch_function((x,)):
        ...         return torch.overrides.handle_torch_function(double, (x,), x)
        ...     return 2 * x
        >>> double(Logged()), double(torch.ones(1))
        ('asked for double', tensor([2.]))
    """
    return torch_function.handle_python_function(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Any) -> Any:
    """Decorator of a function that asks the arguments which `dispatcher(*args, **kwargs)` gives.

    Arguments:
        dispatcher: a function that gives the relevant arguments

    Example:
        >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return 2 * x
        >>> double(torch.ones(1))
        tensor([2.])
    """
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)
        return wrapped
    return decorate


# --- which functions ask ---------------------------------------------------------------------------------------------

_ALSO_ASKING = ("mindtorch.nn.init", "mindtorch.distributed._collectives")      # some of their functions
_HOMES_OF_FUNCTIONS = ("_ops.composite.nn_functional", "_sparse.functions", "_compat.symbolic")


@functools.cache
def _namespaces():
    """{namespace: names of its overridable functions and properties}, for torch, Tensor and modules below torch."""
    import mindtorch
    modules = [import_module(f"mindtorch.{name}") for name in ("nn.functional", "nn.init", "linalg", "fft", "special")]
    late = [name for name, home in mindtorch._LAZY_NAMES.items() if home in _HOMES_OF_FUNCTIONS]
    for name in (*late, *mindtorch._refusals.FUNCTIONS):        # which come at their first use
        setattr(mindtorch, name, getattr(mindtorch, name))
    return {space: [name for name, value in vars(space).items()
                    if isinstance(getattr(value, "fget", value), OverridableFunction)
                    and (space in (mindtorch, Tensor) or name[0] != "_")]
            for space in (mindtorch, *modules, Tensor)}


@functools.cache
def _names():
    """Functions that ask -> their names, as "torch.Tensor.add"."""
    found = {}
    for space, names in reversed(_namespaces().items()):
        prefix = "torch.Tensor" if space is Tensor else space.__name__.replace("mindtorch", "torch", 1)
        for name in names:
            value = vars(space)[name]
            if isinstance(value, property):
                found[value.__get__] = f"{prefix}.{name}.__get__"
                found[value.__set__] = f"{prefix}.{name}.__set__"
            elif value not in found or name == value.__name__:
                found[value] = f"{prefix}.{name}"
    return found | {operator: f"torch.Tensor.{operator.__name__}" for operator in _operators()}


def _operators():
    """The methods by which Python's operators call tensors: Tensor.__add__, Tensor.__radd__, ..."""
    names = {f"__{side}{name.strip('_')}__" for name in OPERATOR_METHODS for side in ("", "r")}
    return [getattr(Tensor, name) for name in sorted(names & set(dir(Tensor)))]


def resolve_name(f: Any) -> Any:
    """The name of a function that asks, as "torch.Tensor.add"; None for any other.

    Arguments:
        f: the function

    Example:
        >>> torch.overrides.resolve_name(torch.Tensor.add)
        'torch.Tensor.add'
    """
    return _names().get(f) if callable(f) else None


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """Namespaces -> the functions in them that ask; of a property, its `__get__`. Private ones are left out, as are
    functions that work in place, but for methods of Tensor.

    Example:
        >>> torch.add in torch.overrides.get_overridable_functions()[torch]
        True
    """
    found = {}
    for space, names in _namespaces().items():
        values = [vars(space)[name] for name in names
                  if space is Tensor or not (name.startswith("_") or name.endswith("_"))]
        found[space] = [value.__get__ if isinstance(value, property) else value for value in values]
    found[Tensor] += _operators()
    return found


def get_testing_overrides() -> dict[Callable, Callable]:
    """The functions of get_overridable_functions -> one of the same parameters that returns -1.

    Example:
        >>> torch.overrides.get_testing_overrides()[torch.add](1, 2)
        -1
    """
    elsewhere = [getattr(module, name) for module in map(import_module, _ALSO_ASKING) for name in module.OVERRIDABLE]
    return {function: _minus_one(function) for functions in (*get_overridable_functions().values(), elsewhere)
            for function in functions}


def _minus_one(function):
    try:
        signature = inspect.signature(function)
    except ValueError:                  # a slot of an operator of Python
        signature = inspect.signature(lambda self, other: None)

    def override(*args, **kwargs):
        signature.bind(*args, **kwargs)
        return -1
    override.__signature__ = signature
    return override


def get_ignored_functions() -> set[Callable]:
    """Functions of the same namespaces that ask nobody: they do not work on tensors that they were given.

    Example:
        >>> torch.is_tensor in torch.overrides.get_ignored_functions()
        True
    """
    import mindtorch
    asking = set(_names())
    return {value for space in (mindtorch, Tensor) for value in vars(space).values()
            if callable(value) and not inspect.isclass(value) and value not in asking}


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether `func` is a method of Tensor, or the getter of one of its properties.

    Arguments:
        func: the function or method

    Example:
        >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
        True
    """
    name = getattr(func, "__name__", "")
    return func in (vars(Tensor).get(name), getattr(Tensor, name, None)) or name == "__get__"
