"""torch.backends.opt_einsum: a library that is not used; einsum contracts from left to right."""
from __future__ import annotations

from typing import Any

from mindtorch.backends import _switches

_set, _flags = _switches.install(__name__, enabled=False, strategy=None)


def is_available() -> Any:
    """False."""
    return False


def get_opt_einsum() -> Any:
    """None: the library is not used."""


def set_flags(_enabled: Any = None, _strategy: Any = None) -> Any:
    """Sets the switches that are not None; the values before."""
    return _set(enabled=_enabled, strategy=_strategy)


def flags(enabled: Any = None, strategy: Any = None) -> Any:
    """Sets the switches for the length of a `with` block."""
    return _flags(enabled=enabled, strategy=strategy)
