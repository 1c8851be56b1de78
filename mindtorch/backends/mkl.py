"""torch.backends.mkl: a library that is not there."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available"]


def is_available() -> Any:
    """False.

    Example:
        >>> torch.backends.mkl.is_available()
        False
    """
    return False
