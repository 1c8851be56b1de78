"""torch.autograd.grad_mode: whether operators are recorded. All are context managers and decorators."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from mindtorch._core.autograd.node import _set_grad_enabled, _set_inference_mode, is_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Mode:
    """A context manager that also decorates functions, generators and classes; each call enters it anew."""

    def clone(self) -> Self:
        return type(self)()

    def __call__(self, function: _Function) -> _Function:
        if inspect.isclass(function):
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. Decorate the "
                          "class's `__init__` instead, which is all that this does.", FutureWarning, stacklevel=2)
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return inside

    def _around_generator(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        given = step(value)
                except StopIteration as finished:
                    return finished.value
                try:
                    step, value = generator.send, (yield given)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:      # noqa: BLE001 - handed into the generator
                    step, value = generator.throw, error
        return inside


class no_grad(_Mode):
    """Operators are not recorded inside, in this thread.

    Arguments:
        function: a function; given one, the result is that function within the mode

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    enabled = False

    @overload
    def __new__(cls, function: _Function) -> _Function: ...
    @overload
    def __new__(cls, function: None = None) -> Self: ...
    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def __enter__(self) -> None:
        self.before = _set_grad_enabled(self.enabled)

    def __exit__(self, *exception: Any) -> None:
        _set_grad_enabled(self.before)


class enable_grad(no_grad):
    """Operators are recorded inside, also within no_grad.

    Arguments:
        function: a function; given one, the result is that function within the mode

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        True
    """

    enabled = True


class set_grad_enabled(_Mode):
    """`mode` from now on, and until the end of the block where it is used with `with`.

    Arguments:
        mode: whether operators are recorded

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.set_grad_enabled(False):
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.before = _set_grad_enabled(self.mode)

    def clone(self) -> Any:
        return set_grad_enabled(self.mode)

    def __call__(self, function: _Function) -> _Function:
        _set_grad_enabled(self.before)          # as a decorator it changes nothing outside the function
        return super().__call__(function)

    def __enter__(self) -> None:
        _set_grad_enabled(self.mode)

    def __exit__(self, *exception: Any) -> None:
        _set_grad_enabled(self.before)


class inference_mode(_Mode):
    """As no_grad, and the tensors made inside can never take part in differentiation.

    Arguments:
        mode: whether the mode is on; a function is run in the mode

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.inference_mode():
        ...     y = 2 * x
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    @overload
    def __new__(cls, mode: _Function) -> _Function: ...
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    def __new__(cls, mode: Any = True) -> Any:
        instance = super().__new__(cls)
        if isinstance(mode, bool):
            return instance
        instance.mode = True
        return instance(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode

    def clone(self) -> Any:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.before = (_set_inference_mode(self.mode), _set_grad_enabled(not self.mode and is_grad_enabled()))

    def __exit__(self, *exception: Any) -> None:
        _set_inference_mode(self.before[0])
        _set_grad_enabled(self.before[1])


for _class in (enable_grad, inference_mode, no_grad, set_grad_enabled):
    _class.__module__ = "mindtorch.autograd.grad_mode"
