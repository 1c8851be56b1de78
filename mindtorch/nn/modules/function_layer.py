"""Layers that are a function with its arguments kept: most activations, losses and poolings."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described

if TYPE_CHECKING:
    from mindtorch import Tensor


class FunctionLayer(Module):
    """Calls `_function` with the input and, by name, the attributes `_passed`; the repr shows `_shown`.

    A class that sets `_function` passes on all that its `__init__` takes, unless `_passed` is given. `__init__` itself
    is there for the signature: what it has to do is `self._store_(locals())`.
    """

    _function_: Any = None
    _passed_: tuple[str, ...] = ()
    _shown_: tuple[str, ...] | None = None       # None: all of _passed

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_function_" in vars(cls) and not cls._passed_:
            code = cls.__init__.__code__
            cls._passed_ = code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount]

    def _store_(self, given):
        Module.__init__(self)
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _apply_to_(self, *inputs):
        return self._function_(*inputs, **{name: getattr(self, name) for name in self._passed_})

    def forward(self, input: Tensor) -> Tensor:
        return self._function_(input, **{name: getattr(self, name) for name in self._passed_})

    def extra_repr(self) -> str:
        return described(self, *(self._passed_ if self._shown_ is None else self._shown_))
