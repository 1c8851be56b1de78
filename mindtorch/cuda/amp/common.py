"""torch.cuda.amp.common."""

from __future__ import annotations

from typing import Any

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> Any:
    """True: there is no CUDA.

    Example:
        >>> torch.cuda.amp.common.amp_definitely_not_available()
        True
    """
    return True
