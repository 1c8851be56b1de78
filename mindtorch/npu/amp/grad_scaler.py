"""torch.npu.amp.grad_scaler."""
from __future__ import annotations

from mindtorch import amp as _amp

__all__ = ["GradScaler"]


class GradScaler(_amp.GradScaler):
    """torch.amp.GradScaler("npu"); with `dynamic=False` the scale stays as it is, and infinities leave out steps.

    Arguments:
        dynamic: whether infinities make the scale smaller, and their absence larger

    Example:
        >>> scaler = torch.npu.amp.GradScaler(init_scale=4.0, dynamic=False)
        >>> scaler.scale(torch.ones(1, device="npu"))
        tensor([4.], device='npu:0')
    """

    def __init__(self, init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, dynamic: bool = True, enabled: bool = True) -> None:
        self._dynamic = dynamic
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    def _update_scale_(self, scale, growth_tracker, found_inf):
        if self._dynamic:
            super()._update_scale_(scale, growth_tracker, found_inf)
