"""The debug level of torch.distributed: TORCH_DISTRIBUTED_DEBUG."""
from __future__ import annotations

import os

from mindtorch.distributed._options import _IntegerEnum

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(_IntegerEnum):
    """INFO logs more at the start; DETAIL also compares each collective between the ranks before it runs.

    Example:
        >>> dist.DebugLevel.INFO.name
        'INFO'
    """

    OFF, INFO, DETAIL = range(3)


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The debug level of this process.

    Example:
        >>> dist.get_debug_level() == dist.DebugLevel.OFF
        True
    """
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Set the debug level for the groups that are made from now on.

    Arguments:
        level: a DebugLevel

    Example:
        >>> dist.set_debug_level(dist.DebugLevel.DETAIL)
        >>> dist.get_debug_level().name
        'DETAIL'
        >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Set the debug level to that of TORCH_DISTRIBUTED_DEBUG.

    Example:
        >>> import os
        >>> os.environ["TORCH_DISTRIBUTED_DEBUG"] = "INFO"
        >>> dist.set_debug_level_from_env()
        >>> dist.get_debug_level().name
        'INFO'
        >>> os.environ["TORCH_DISTRIBUTED_DEBUG"] = "OFF"
        >>> dist.set_debug_level_from_env()
    """
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[name])
