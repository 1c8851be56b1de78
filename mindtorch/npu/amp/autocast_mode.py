"""torch.npu.amp.autocast_mode."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from mindtorch._core.tensor.dtype import float16
from mindtorch.amp import autocast_mode as _amp

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """torch.autocast("npu", dtype), with torch_npu's order of parameters.

    Example:
        >>> with torch.npu.amp.autocast():
        ...     (torch.ones(2, 2, device="npu") @ torch.ones(2, 2, device="npu")).dtype
        torch.float16
    """

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


custom_fwd = functools.partial(_amp.custom_fwd, device_type="npu")
custom_bwd = functools.partial(_amp.custom_bwd, device_type="npu")
