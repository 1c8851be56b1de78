"""torch.autograd.grad_mode: see _core/grad_mode.py."""
from mindtorch._core.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
