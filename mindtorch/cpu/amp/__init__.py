"""torch.cpu.amp: torch.amp for "cpu", under its older name."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.cpu.amp import autocast_mode, grad_scaler
from mindtorch.cpu.amp.autocast_mode import autocast
from mindtorch.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]

_complete_docstrings(globals(), "amp")
