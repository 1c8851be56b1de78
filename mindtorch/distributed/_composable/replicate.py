"""torch.distributed._composable.replicate: DistributedDataParallel in place, by hooks on the module itself."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import mindtorch
from mindtorch.distributed.fsdp import FSDPModule
from mindtorch.nn import Module, ParameterList
from mindtorch.nn.parallel import DistributedDataParallel

__all__ = ["DDP", "replicate"]


class _State:
    """What `replicate` keeps of a module: its DistributedDataParallel is made at the first forward."""

    def __init__(self, module: Module, ignored: set[Module], settings: dict[str, Any]) -> None:
        self._module, self._ignored, self._settings = module, ignored, settings
        self._ddp: DistributedDataParallel | None = None
        self.syncs_gradients = True
        self.hooks: list[tuple[Any, Callable]] = []

    def _parameters(self, module):
        if module in self._ignored or isinstance(module, FSDPModule):
            return []
        return [*module.parameters(recurse=False),
                *(each for child in module.children() for each in self._parameters(child))]

    def pre_forward(self, module: Module, inputs: Any, kwargs: Any) -> Any:
        if self._ddp is None:
            parameters = dict.fromkeys(self._parameters(self._module))      # each once
            self._ddp = DistributedDataParallel(ParameterList(parameters), **self._settings)
        while self.hooks:
            self._ddp.register_comm_hook(*self.hooks.pop(0))
        self._ddp.require_backward_grad_sync = self.syncs_gradients
        return self._ddp._pre_forward(*inputs, **kwargs)

    def post_forward(self, module: Module, inputs: Any, outputs: Any) -> Any:
        return self._ddp._post_forward(outputs)


class DDP:
    """The methods of a module that `replicate` has taken."""

    _replicate_state: _State

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Whether backwards reduce the gradients over the ranks, from the next forward on."""
        self._replicate_state.syncs_gradients = requires_gradient_sync

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """As that of DistributedDataParallel."""
        self._replicate_state.hooks.append((state, hook))

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")


def replicate(module: Module, ignored_modules: Iterable[Module] | None = None, **kwargs: Any) -> Module:
    """Train `module` in all processes of a group. It keeps its class and the names of its parameters.

    `kwargs` are those of DistributedDataParallel; `device_id` takes the place of device_ids. Parameters of
    `ignored_modules` and of modules under fully_shard are left alone, and so are buffers.
    """
    if isinstance(module, FSDPModule):
        raise RuntimeError("Cannot apply `replicate()` on a Module already managed by `fully_shard`")
    if isinstance(module, DDP):
        raise AssertionError("Each distinct composable distributed API can only be applied to a module once. "
                             f"`replicate` has already been applied to the following module:\n{module}")
    if "device_id" in kwargs:
        device_id = kwargs.pop("device_id")
        if not isinstance(device_id, (int, mindtorch.device)):
            raise RuntimeError(f"Expected device_id to be int or torch.device, but got {type(device_id)}")
        on_cpu = isinstance(device_id, mindtorch.device) and device_id.type == "cpu"
        kwargs["device_ids"] = None if on_cpu else [device_id]
    state = _State(module, set(ignored_modules or ()), kwargs)
    module.register_forward_pre_hook(state.pre_forward, with_kwargs=True)
    module.register_forward_hook(state.post_forward)
    module._replicate_state = state
    module.__class__ = type(f"DDP{type(module).__name__}", (DDP, type(module)), {})
    return module
