"""torch.multiprocessing: Python's multiprocessing, and `spawn`, which runs a function in several processes at once."""
from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403
from typing import Any

from mindtorch.multiprocessing.reductions import init_reductions
from mindtorch.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [*_multiprocessing.__all__, "ProcessContext", "ProcessExitedException", "ProcessRaisedException",  # noqa: PLE0604
           "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
           "start_processes"]

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> Any:
    """The names that set_sharing_strategy takes.

    Example:
        >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> Any:
    """The strategy that set_sharing_strategy has set; "file_descriptor" at first.

    Example:
        >>> torch.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: Any) -> None:
    """Stores the strategy. It has no effect: shared memory has no file names and keeps no descriptor open.

    Arguments:
        new_strategy: "file_descriptor" or "file_system"

    Example:
        >>> torch.multiprocessing.set_sharing_strategy("file_system")
        >>> torch.multiprocessing.get_sharing_strategy()
        'file_system'
        >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy '{new_strategy}', expected one of {_STRATEGIES}")
    _strategy = new_strategy


init_reductions()
