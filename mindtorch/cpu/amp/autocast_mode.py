"""torch.cpu.amp.autocast_mode."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch._core.tensor.dtype import bfloat16
from mindtorch.amp import autocast_mode as _amp
from mindtorch.amp._per_device import deprecated as _deprecated

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["autocast"]


class autocast(_amp.autocast):
    """torch.autocast("cpu", dtype), with another order of parameters.

    Example:
        >>> with torch.cpu.amp.autocast():
        ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        torch.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        _deprecated("cpu", "autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
