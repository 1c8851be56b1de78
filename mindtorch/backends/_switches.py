"""Modules with typed settings: each variable takes values of one type."""
from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _SwitchModule(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        kind = self._switches.get(name, object)
        if not isinstance(value, kind):
            raise RuntimeError(f"set_{name}_{self.__name__.rpartition('.')[2]} expects a {kind.__name__}, but got "
                               f"{type(value).__name__}")
        super().__setattr__(name, value)


def install(module_name: Any, **switches: Any) -> Any:
    """Adds settings to a module. A setting whose default is None takes any value, others only the type of the default.

    Returns (set_flags, flags): a function that sets switches by keyword, where they are not None, and answers with the
    values before, and a context manager that does so for the length of a block.
    """
    module = sys.modules[module_name]
    vars(module)["_switches"] = {name: object if value is None else type(value) for name, value in switches.items()}
    vars(module).update(switches)
    module.__class__ = _SwitchModule

    def set_flags(**values):
        before = tuple(getattr(module, name) for name in switches)
        for name, value in values.items():
            if value is not None:
                setattr(module, name, value)
        return before

    @contextmanager
    def flags(**values):
        before = set_flags(**values)
        try:
            yield
        finally:
            vars(module).update(zip(switches, before, strict=True))

    return set_flags, flags
