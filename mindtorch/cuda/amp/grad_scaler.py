"""torch.cuda.amp.grad_scaler."""
from __future__ import annotations

from mindtorch import amp as _amp
from mindtorch.amp._per_device import deprecated as _deprecated
from mindtorch.amp.grad_scaler import OptState  # noqa: F401 - torch has it here too

__all__ = ["GradScaler"]


class GradScaler(_amp.GradScaler):
    """torch.amp.GradScaler("cuda").

    Example:
        >>> torch.cuda.amp.GradScaler().is_enabled()        # there is no CUDA
        False
    """

    def __init__(self, init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _deprecated("cuda", "GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
