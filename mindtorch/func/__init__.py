"""torch.func: derivatives of functions, and modules as functions of their parameters and buffers."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch import stack
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.func._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from mindtorch.func._vmap import vmap
from mindtorch.nn.utils.stateless import _functional_call

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """Call `module` with the tensors of one or several dictionaries in place of its parameters and buffers.

    Names are those of named_parameters and named_buffers; a tensor given for one name is taken for all that are tied
    to it, unless `tie_weights` is false. With `strict` all names must be given, and no others.

    Arguments:
        module: the module
        parameter_and_buffer_dicts: tensors by name, in place of the module's own; one dict or several
        args: the arguments; one, or a tuple
        kwargs: the arguments by name; None means none
        tie_weights: whether names of the same tensor are all replaced
        strict: whether missing and unexpected names raise an error

    Example:
        >>> net = nn.Linear(1, 1)
        >>> parameters = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
        >>> torch.func.functional_call(net, parameters, torch.tensor([3.0]))
        tensor([7.])
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, (list, tuple)):
        if not all(isinstance(each, dict) for each in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for each in given for name in each]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for each in given for name, tensor in each.items()}
    elif not isinstance(given, dict):
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(given)}")
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make all batch norms of `root` normalise by their batch alone, as vmap needs it; returns `root`.

    Arguments:
        root: the module, itself included

    Example:
        >>> norm = torch.func.replace_all_batch_norm_modules_(nn.BatchNorm1d(2))
        >>> norm.running_mean is None, norm.track_running_stats
        (True, False)
    """
    from mindtorch.nn.modules.batchnorm import _BatchNorm
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models: Any) -> Any:
    """(parameters, buffers) of modules of one class: by name, the tensors of all, stacked; parameters are leaves.

    Arguments:
        models: modules of the same kind, as a list

    Example:
        >>> parameters, buffers = torch.func.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])
        >>> parameters["weight"].shape
        torch.Size([2, 1, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {name: _stacked(name, [dict(model.named_parameters())[name] for model in models])
                  for name, _ in models[0].named_parameters()}
    buffers = {name: _stacked(name, [dict(model.named_buffers())[name] for model in models])
               for name, _ in models[0].named_buffers()}
    return parameters, buffers


def _stacked(name, tensors):
    wanted = tensors[0].requires_grad
    if any(tensor.requires_grad is not wanted for tensor in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack(tensors).detach().requires_grad_(wanted)


_complete_docstrings(globals(), "func")


if not TYPE_CHECKING:        # a type checker would take any name for one of this module
    __getattr__ = _module_getattr(__name__)
