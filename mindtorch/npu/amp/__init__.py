"""torch.npu.amp: torch.amp for "npu"."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.npu.amp import autocast_mode, grad_scaler
from mindtorch.npu.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from mindtorch.npu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_complete_docstrings(globals(), "amp")
