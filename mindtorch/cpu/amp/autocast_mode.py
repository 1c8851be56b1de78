"""torch.cpu.amp.autocast_mode."""
from mindtorch._core.tensor.dtype import bfloat16
from mindtorch.amp import autocast_mode as _amp
from mindtorch.amp._per_device import deprecated as _deprecated

__all__ = ["autocast"]


class autocast(_amp.autocast):
    """torch.autocast("cpu", dtype), with another order of parameters."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        _deprecated("cpu", "autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
