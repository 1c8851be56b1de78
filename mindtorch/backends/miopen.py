"""torch.backends.miopen: the switch of a library that is not there."""
from __future__ import annotations

from typing import Any

from mindtorch.backends import _switches

_set, _flags = _switches.install(__name__, immediate=False)


def set_flags(_immediate: Any = None) -> Any:
    """Sets the switch if it is not None; the value before, in a tuple.

    Example:
        >>> torch.backends.miopen.set_flags(False)
        (False,)
    """
    return _set(immediate=_immediate)


def flags(immediate: bool = False) -> Any:
    """Sets the switch for the length of a `with` block.

    Arguments:
        immediate: whether kernels are chosen without a search

    Example:
        >>> with torch.backends.miopen.flags(immediate=True):
        ...     torch.backends.miopen.immediate
        True
    """
    return _flags(immediate=immediate)
