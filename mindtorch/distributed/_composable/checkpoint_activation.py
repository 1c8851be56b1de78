"""torch.distributed._composable.checkpoint_activation: a module, in place, whose activations are computed again."""
from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

from mindtorch.distributed._composable.contract import contract
from mindtorch.utils.checkpoint import checkpoint as run_checkpoint

if TYPE_CHECKING:
    from mindtorch.nn import Module

__all__ = ["checkpoint"]

_OPTIONS = {"preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}


def _forward(self, *args, **kwargs):
    """In place of the forward of the module's class. A method, so that a copy of the module calls its own."""
    return run_checkpoint(MethodType(type(self).forward, self), *args, use_reentrant=False,
                          **checkpoint.state(self).options, **kwargs)


@contract()
def checkpoint(module: Module, **kwargs: Any) -> Module:
    """Let backward compute the module's forward again, as torch.utils.checkpoint.checkpoint does, with its options."""
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError("use_reentrant=True is not supported in composable checkpoint. Please use "
                                  "torch.utils.checkpoint.checkpoint instead.")
    if not kwargs.keys() <= _OPTIONS:
        raise ValueError(f"Unexpected keyword arguments: {','.join(sorted(kwargs.keys() - _OPTIONS))}")
    checkpoint.state(module).options = kwargs
    module.forward = MethodType(_forward, module)
    return module
