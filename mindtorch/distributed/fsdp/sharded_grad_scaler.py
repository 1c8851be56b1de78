"""torch.distributed.fsdp.sharded_grad_scaler: GradScaler where each rank has a part of the gradients."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.amp.grad_scaler import GradScaler
from mindtorch.distributed._collectives import all_reduce
from mindtorch.distributed._options import ReduceOp

if TYPE_CHECKING:
    from mindtorch import Tensor, device
    from mindtorch.distributed import ProcessGroup
    from mindtorch.optim import Optimizer

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A GradScaler by which all ranks of a group leave out a step if one of them has found an infinity or a NaN.

    Arguments:
        device: the type of the device
        init_scale: the scale at the beginning
        backoff_factor: what the scale is multiplied by after a step with an infinity
        growth_factor: what the scale is multiplied by after growth_interval steps without an infinity
        growth_interval: the number of steps without an infinity after which the scale grows
        enabled: whether it has an effect
        process_group: the ranks that share the parameters; None means all

    Example:
        >>> scaler = dist.fsdp.sharded_grad_scaler.ShardedGradScaler(device="cpu", init_scale=4.0)
        >>> scaler.scale(torch.ones(1))
        tensor([4.])
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0 ** 16, backoff_factor: float = 0.5,
                 growth_factor: float = 2.0, growth_interval: int = 2000, enabled: bool = True,
                 process_group: ProcessGroup | None = None) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def _unscale_grads_(self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor,
                        allow_fp16: bool) -> dict[device, Any]:
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, True)
        if not found:       # this rank has no gradients; the others may
            found = {found_inf.device: found_inf}
        for each in found.values():
            all_reduce(each, ReduceOp.MAX, self.process_group)
        return found
