"""torch.backends.openmp: a library that is not there."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available"]


def is_available() -> Any:
    """False.

    Example:
        >>> torch.backends.openmp.is_available()
        False
    """
    return False
