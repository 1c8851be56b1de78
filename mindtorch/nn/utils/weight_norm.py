"""Norm and direction of a weight as two parameters: torch.nn.utils.weight_norm, done by a hook before forward."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch import norm_except_dim
from mindtorch.nn.parameter import Parameter, UninitializedParameter

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def weight_of(v: Any, g: Any, dim: int = 0) -> Any:
    """The direction of each slice of `v` along `dim` times its norm `g`."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook that computes the weight before each forward.

    Arguments:
        name: the name of the parameter
        dim: the dimension that is kept apart; None means none

    Example:
        >>> model = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
        >>> [type(hook).__name__ for hook in model._forward_pre_hooks.values()]
        ['WeightNorm']
    """

    name: str
    dim: int

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight that the module's two parameters give."""
        return weight_of(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int) -> WeightNorm:
        """Put the hook on a module; it has the two parameters then, and the weight is no parameter."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run "
                             "the dummy forward before applying weight normalization")
        norm = Parameter(norm_except_dim(weight, 2, made.dim).data)
        del module._parameters[name]
        module.register_parameter(name + "_g", norm)
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int = 0) -> Any:
    """Replace a weight by `<name>_g`, the norms of its slices along `dim`, and `<name>_v`, their directions.

    Example:
        >>> net = nn.utils.weight_norm(nn.Linear(2, 3))
        >>> net.weight_g.shape, net.weight_v.shape
        (torch.Size([3, 1]), torch.Size([3, 2]))
    """
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of "
                  "`torch.nn.utils.parametrizations.weight_norm`.", FutureWarning, stacklevel=2)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo weight_norm: the weight is a parameter again.

    Example:
        >>> net = nn.utils.weight_norm(nn.Linear(2, 3))
        >>> [name for name, _ in nn.utils.remove_weight_norm(net).named_parameters()]
        ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
