"""torch.distributed.rpc, as a torch has it that was built without: it says that it is not available."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available"]


def is_available() -> Any:
    """False: processes do not call each other."""
    return False
