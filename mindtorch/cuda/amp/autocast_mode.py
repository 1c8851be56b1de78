"""torch.cuda.amp.autocast_mode."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.dtype import float16
from mindtorch.amp import autocast_mode as _amp
from mindtorch.amp._per_device import deprecated as _deprecated

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """torch.autocast("cuda", dtype), with another order of parameters.

    Example:
        >>> with torch.cuda.amp.autocast():         # there is no CUDA: the CPU computes as it does without
        ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        torch.float32
    """

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        _deprecated("cuda", "autocast")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """torch.amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs).

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.cuda.amp.custom_fwd
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @torch.cuda.amp.custom_bwd
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> Double.apply(torch.ones(2))
        tensor([2., 2.])
    """
    _deprecated("cuda", "custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """torch.amp.custom_bwd(bwd, device_type="cuda").

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.cuda.amp.custom_fwd
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @torch.cuda.amp.custom_bwd
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.ones(2, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
    """
    _deprecated("cuda", "custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")
