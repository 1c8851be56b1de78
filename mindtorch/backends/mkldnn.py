"""torch.backends.mkldnn: the switches of a library that is not there."""
from __future__ import annotations

from typing import Any

from mindtorch.backends import _switches

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

_set, _flags = _switches.install(__name__, enabled=True, deterministic=False, allow_tf32=None, fp32_precision="none")


def is_available() -> Any:
    """False."""
    return False


def is_acl_available() -> Any:
    """False.

    Example:
        >>> torch.backends.mkldnn.is_acl_available()
        False
    """
    return False


class verbose:
    """Has the library say in a `with` block what it does; there is none, and nothing is said.

    Arguments:
        level: VERBOSE_OFF, VERBOSE_ON or VERBOSE_ON_CREATION

    Example:
        >>> with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
        ...     torch.ones(1) + 1
        tensor([2.])
    """

    def __init__(self, level: Any) -> None:
        self.level = level

    def __enter__(self) -> Any:
        return self if self.level != VERBOSE_OFF else None

    def __exit__(self, *exception: Any) -> bool:
        return False


def set_flags(_enabled: Any = None, _deterministic: Any = None, _allow_tf32: Any = None,
              _fp32_precision: str = "none") -> Any:
    """Sets the switches that are not None; the values before."""
    return _set(enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_fp32_precision)


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True,
          fp32_precision: str = "none") -> Any:
    """Sets the switches for the length of a `with` block."""
    return _flags(enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision)
