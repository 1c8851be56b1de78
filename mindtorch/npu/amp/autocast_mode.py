"""torch.npu.amp.autocast_mode."""
import functools

from mindtorch._core.tensor.dtype import float16
from mindtorch.amp import autocast_mode as _amp

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """torch.autocast("npu", dtype), with torch_npu's order of parameters."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


custom_fwd = functools.partial(_amp.custom_fwd, device_type="npu")
custom_bwd = functools.partial(_amp.custom_bwd, device_type="npu")
