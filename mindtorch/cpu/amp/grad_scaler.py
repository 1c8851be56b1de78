"""torch.cpu.amp.grad_scaler."""
from __future__ import annotations

from mindtorch import amp as _amp
from mindtorch.amp._per_device import deprecated as _deprecated

__all__ = ["GradScaler"]


class GradScaler(_amp.GradScaler):
    """torch.amp.GradScaler("cpu").

    Example:
        >>> scaler = torch.cpu.amp.GradScaler(init_scale=4.0)
        >>> scaler.scale(torch.ones(1))
        tensor([4.])
    """

    def __init__(self, init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _deprecated("cpu", "GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
