"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may reduce its buckets."""
from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from mindtorch._submodules import module_getattr
from mindtorch.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch.distributed import ProcessGroup
    from mindtorch.nn.parallel import DistributedDataParallel

__all__ = ["DDPCommHookType", "debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook",
           "register_ddp_comm_hook"]


class _Registration:
    """Registers a hook, whose state is the group, or for PowerSGD has a rank as well."""

    def __init__(self, hook: Callable, power_rank: int | None = None) -> None:
        self._hook, self._power_rank = hook, power_rank

    def __call__(self, model: DistributedDataParallel, state: ProcessGroup | None = None) -> None:
        if self._power_rank is not None:
            state = powerSGD_hook.PowerSGDState(state, self._power_rank)
        model.register_comm_hook(state, self._hook)


class DDPCommHookType(Enum):
    """The hooks by name; the value of each registers it: value(model=model, state=process_group)."""

    ALLREDUCE = _Registration(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Registration(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Registration(default_hooks.bf16_compress_hook)
    POWER_SGD = _Registration(powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = _Registration(powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = _Registration(powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = _Registration(powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = _Registration(debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: Any = None) -> None:
    """Have the hook of this name reduce the buckets of a model.

    Arguments:
        comm_hook_type: a DDPCommHookType
        model: a DistributedDataParallel model
        state: the state that the hook gets on each call

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> hooks.register_ddp_comm_hook(hooks.DDPCommHookType.FP16_COMPRESS, model)
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    comm_hook_type.value(model=model, state=state)


__getattr__ = module_getattr(__name__)
