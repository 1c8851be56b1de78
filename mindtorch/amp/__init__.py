"""torch.amp: autocast for mixed precision, and GradScaler, which scales losses for float16 gradients."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.amp import autocast_mode, grad_scaler
from mindtorch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from mindtorch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_complete_docstrings(globals(), "amp")
