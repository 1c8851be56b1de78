"""torch.cuda.amp: torch.amp for "cuda", under its older name."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.cuda.amp import autocast_mode, common, grad_scaler
from mindtorch.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from mindtorch.cuda.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_complete_docstrings(globals(), "amp")
