"""torch._functorch.make_functional: modules as functions of tuples of their parameters and buffers."""
from __future__ import annotations

import copy
from typing import Any

from mindtorch import stack
from mindtorch.func import functional_call
from mindtorch.nn import Module

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "make_functional",
           "make_functional_with_buffers"]


class FunctionalModuleWithBuffers(Module):
    """A module as a function: `function(parameters, buffers, *args)`. make_functional_with_buffers makes it."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these parameters and buffers, which are in the order of their names."""
        given = {**dict(zip(self.param_names, params, strict=True)),
                 **dict(zip(self.buffer_names, buffers, strict=True))}
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function: `function(parameters, *args)`. make_functional makes it."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these parameters, which are in the order of their names."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple]:
    """(function, parameters) of a module: `function(parameters, *args)` is what `model(*args)` gives.

    disable_autograd_tracking: the parameters require no gradient. RuntimeError for a module with buffers.
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model)"
                           " instead.")
    function, parameters, _ = _functional(FunctionalModule, model, disable_autograd_tracking)
    return function, parameters


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False
                                 ) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """(function, parameters, buffers) of a module: `function(parameters, buffers, *args)` is what `model(*args)` gives.

    disable_autograd_tracking: the parameters require no gradient.
    """
    return _functional(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


def _functional(kind, model, without_gradients):
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    function = kind(copy.deepcopy(model), tuple(parameters), tuple(buffers))
    if without_gradients:
        parameters = {name: parameter.detach() for name, parameter in parameters.items()}
    return function, tuple(parameters.values()), tuple(buffers.values())


def combine_state_for_ensemble(models: Any) -> tuple[FunctionalModuleWithBuffers, tuple, tuple]:
    """(function, parameters, buffers) of modules of one class, each tensor stacked from all: for vmap over modules."""
    name = "combine_state_for_ensemble"
    if not models:
        raise RuntimeError(f"{name}: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(f"{name}: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(f"{name}: Expected all models to be of the same class.")
    functions, parameters, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    stacked = [tuple(stack(each).detach() for each in zip(*tensors, strict=True)) for tensors in (parameters, buffers)]
    return functions[0], *stacked
