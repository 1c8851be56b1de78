"""torch.distributed.optim.apply_optimizer_in_backward: each parameter is updated as soon as its gradient is there."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch.nn import Module, Parameter
    from mindtorch.optim import Optimizer

__all__: list[str] = []


def _apply_optimizer_in_backward(optimizer_class: type[Optimizer], params: Iterable[Parameter],
                                 optimizer_kwargs: dict[str, Any], register_hook: bool = True) -> None:
    """Give each parameter an optimizer of its own, which runs in the backward pass and then drops the gradient.

    Example:
        >>> from mindtorch.distributed.optim import _apply_optimizer_in_backward
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> torch.nn.init.ones_(model.weight)
        Parameter containing:
        tensor([[1., 1.]], requires_grad=True)
        >>> _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), {"lr": 0.5})
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> model.weight, model.weight.grad
        (Parameter containing:
        tensor([[0.5000, 0.5000]], requires_grad=True), None)
    """
    for parameter in params:
        if not hasattr(parameter, "_in_backward_optimizers"):
            parameter._in_backward_optimizers, parameter._optimizer_classes = [], []
            parameter._optimizer_kwargs = []
        parameter._in_backward_optimizers.append(optimizer_class([parameter], **optimizer_kwargs))
        parameter._optimizer_classes.append(optimizer_class)
        parameter._optimizer_kwargs.append(optimizer_kwargs)
        if not register_hook or len(parameter._in_backward_optimizers) > 1:
            continue

        def update(parameter):
            for optimizer in parameter._in_backward_optimizers:
                optimizer.step()
            parameter.grad = None
        parameter.register_post_accumulate_grad_hook(update)


def _get_in_backward_optimizers(module: Module) -> list[Optimizer]:
    """The optimizers of a module's parameters."""
    return [optimizer for parameter in module.parameters()
            for optimizer in getattr(parameter, "_in_backward_optimizers", ())]
