"""torch.backends.nnpack: a library that is not there."""
from __future__ import annotations

from typing import Any

from mindtorch.backends import _switches

_set, _flags = _switches.install(__name__, enabled=True)


def is_available() -> Any:
    """False.

    Example:
        >>> torch.backends.nnpack.is_available()
        False
    """
    return False


def set_flags(_enabled: Any) -> Any:
    """Sets the switch; the value before, in a tuple.

    Example:
        >>> (before,) = torch.backends.nnpack.set_flags(False)
        >>> (changed,) = torch.backends.nnpack.set_flags(before)
        >>> changed
        False
    """
    return _set(enabled=_enabled)


def flags(enabled: bool = False) -> Any:
    """Sets the switch for the length of a `with` block.

    Arguments:
        enabled: whether it may be used

    Example:
        >>> with torch.backends.nnpack.flags(enabled=True):
        ...     torch.ones(1) + 1
        tensor([2.])
    """
    return _flags(enabled=enabled)
