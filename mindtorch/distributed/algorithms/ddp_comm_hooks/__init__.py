"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may reduce its buckets."""
from __future__ import annotations

from enum import Enum, member
from functools import partial
from typing import TYPE_CHECKING, Any

from mindtorch._refusals.modules import refused_names
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


def _register(hook: Callable, model: DistributedDataParallel, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _register_power(hook: Callable, rank: int, model: DistributedDataParallel, state: ProcessGroup | None) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name; the value of each registers it: value(model=model, state=process_group)."""

    ALLREDUCE = member(partial(_register, default_hooks.allreduce_hook))
    FP16_COMPRESS = member(partial(_register, default_hooks.fp16_compress_hook))
    BF16_COMPRESS = member(partial(_register, default_hooks.bf16_compress_hook))
    POWER_SGD = member(partial(_register_power, powerSGD_hook.powerSGD_hook, 1))
    POWER_SGD_RANK2 = member(partial(_register_power, powerSGD_hook.powerSGD_hook, 2))
    BATCHED_POWER_SGD = member(partial(_register_power, powerSGD_hook.batched_powerSGD_hook, 1))
    BATCHED_POWER_SGD_RANK2 = member(partial(_register_power, powerSGD_hook.batched_powerSGD_hook, 2))
    NOOP = member(partial(_register, debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: Any = None) -> None:
    """Have the hook of this name reduce the buckets of a model."""
    comm_hook_type.value(model=model, state=state)


__getattr__ = refused_names(__name__)
