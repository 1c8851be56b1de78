"""torch._ops.HigherOrderOperator: operators that take functions, with kernels in Python by dispatch key."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from mindtorch import Tensor
from mindtorch._library.keys import DispatchKey, DispatchKeySet, backend_of, excluded
from mindtorch.utils._pytree import tree_leaves

__all__ = ["HigherOrderOperator"]


class HigherOrderOperator(ABC):
    """An operator whose arguments may be anything, functions too. Programs derive a class, with a `__call__`.

    A call runs the kernel of the first key that has one, of those that the thread does not exclude: the device's
    "AutogradCPU" and "Autograd", then "CPU" ("PrivateUse1", ...), "CompositeExplicitAutograd" and
    "CompositeImplicitAutograd".
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.namespace, self._cacheable = "higher_order", cacheable
        self.py_kernels, self._passed = {}, DispatchKeySet()

    def py_impl(self, k: Any) -> Callable:
        """A decorator: the function is the kernel of a key."""
        def register(function):
            if k in self.py_kernels:
                raise RuntimeError(f"Trying to override a python impl for {k} on operator {self._name}")
            self.py_kernels[k] = function
            return function
        return register

    def fallthrough(self, dispatch_key: Any) -> None:
        """Has calls pass a key."""
        self._passed = self._passed.add(dispatch_key)

    def name(self) -> str:
        """The operator's name."""
        return self._name

    @abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        leaves = tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        backend = backend_of(tensors)
        for name in (*((f"Autograd{backend}", "Autograd") if tensors else ()), backend, "CompositeExplicitAutograd",
                     "CompositeImplicitAutograd"):
            key = getattr(DispatchKey, name, None)
            kernel = None if name in excluded() or self._passed.has(key) else self.py_kernels.get(key)
            if kernel is not None:
                return kernel(*args, **kwargs)
        raise NotImplementedError(f"could not find kernel for HigherOrderOperator {self._name} at dispatch key "
                                  f"DispatchKey.{backend}")

    def __str__(self) -> str:
        return self._name
