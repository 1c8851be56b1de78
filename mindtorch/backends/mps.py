"""torch.backends.mps: a device that is not there."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available", "is_built"]


def is_built() -> Any:
    """False."""
    return False


def is_available() -> Any:
    """False."""
    return False
