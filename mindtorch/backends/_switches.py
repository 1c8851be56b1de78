"""Modules with typed settings: each variable takes values of one type."""
from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_frozen = False


def disable_global_flags() -> Any:
    """From now on no switch is set by assignment; flags() of its module sets it for the length of a block.

    Example:
        >>> torch.backends.disable_global_flags()       # doctest: +SKIP
    """
    global _frozen
    _frozen = True


def flags_frozen() -> Any:
    """Whether disable_global_flags() was called.

    Example:
        >>> torch.backends.flags_frozen()
        False
    """
    return _frozen


class _SwitchModule(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._kinds_:
            if _frozen:
                raise RuntimeError(f"not allowed to set torch.{self.__name__.partition('.')[2]} flags after "
                                   "disable_global_flags; please use flags() context manager instead")
            _assign(self, name, value)
        else:
            super().__setattr__(name, value)


def _assign(module, name, value):
    kind = module._kinds_[name]
    if not isinstance(value, kind):
        raise RuntimeError(f"set_{name}_{module.__name__.rpartition('.')[2]} expects a {kind.__name__}, but got "
                           f"{type(value).__name__}")
    vars(module)[name] = value


def install(module_name: Any, **switches: Any) -> Any:
    """Adds settings to a module. A setting whose default is None takes any value, others only the type of the default.

    Returns (set_flags, flags): a function that sets switches by keyword, where they are not None, and answers with the
    values before, and a context manager that does so for the length of a block.
    """
    module = sys.modules[module_name]
    vars(module)["_kinds_"] = {name: object if value is None else type(value) for name, value in switches.items()}
    vars(module).update(switches)
    module.__class__ = _SwitchModule

    def set_flags(**values):
        before = tuple(getattr(module, name) for name in switches)
        for name, value in values.items():
            if value is not None:
                _assign(module, name, value)
        return before

    @contextmanager
    def flags(**values):
        before = set_flags(**values)
        try:
            yield
        finally:
            vars(module).update(zip(switches, before, strict=True))

    return set_flags, flags
