"""torch.distributed.algorithms._checkpoint.checkpoint_wrapper: modules whose activations are computed again.

A wrapper leaves no trace in a state dict: its names are those without wrappers.
"""
from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from mindtorch.autograd.graph import save_on_cpu
from mindtorch.distributed.fsdp.wrap import lambda_auto_wrap_policy, wrap_below
from mindtorch.nn import Module
from mindtorch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindtorch.nn import Parameter

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
           "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper"]

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(Enum):
    """The argument use_reentrant of torch.utils.checkpoint.checkpoint."""

    REENTRANT = 1
    NO_REENTRANT = 2


class ActivationWrapper(Module):
    """A module around another, whose attributes and names of parameters it has."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
        _rename(state_dict, prefix + _CHECKPOINT_PREFIX, prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        _rename(state_dict, prefix, prefix + _CHECKPOINT_PREFIX)


def _rename(state, old, new):
    for name in [name for name in state if name.startswith(old)]:
        state[new + name[len(old):]] = state.pop(name)


class OffloadWrapper(ActivationWrapper):
    """Keeps on the CPU what backward needs of the module."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Computes the module a second time in backward, by torch.utils.checkpoint or `checkpoint_fn(module, *args)`."""

    def __init__(self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                 checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs: Any) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        # A checkpoint of this kind takes no keyword arguments.
        names = list(kwargs)

        def call(*values):
            return self._checkpoint_wrapped_module(*values[:len(args)], **dict(zip(names, values[len(args):],
                                                                                   strict=True)))
        return self.checkpoint_fn(call, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """The module with its activations on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                       checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs: Any) -> Module:
    """The module with its activations computed again in backward. Further arguments are those of `checkpoint`."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model: Module, checkpoint_wrapper_fn: Callable = checkpoint_wrapper,
                                   check_fn: Callable = lambda _: True,
                                   auto_wrap_policy: Any = None) -> None:
    """Wrap, in place, the modules below `model` that check_fn, or a policy, chooses."""
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_below(model, policy, checkpoint_wrapper_fn, set(), set(), {})
