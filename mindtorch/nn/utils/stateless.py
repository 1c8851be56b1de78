"""Calls of a module with other parameters and buffers than its own."""
from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["functional_call"]


def _names_of_tied(module):
    """name -> all names of the same parameter or buffer."""
    groups = {}
    for members in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in members:
            groups.setdefault(id(tensor), set()).add(name)
    return {name: group for group in groups.values() for name in group}


def _with_ties(module, tensors):
    """Adds the other names of tied tensors: a tensor given for one name is used for all."""
    found = dict(tensors)
    for name, group in _names_of_tied(module).items():
        given = sorted(group & tensors.keys())
        if len({id(tensors[each]) for each in given}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {given}, which are tied. Consider using "
                             "tie_weights=False")
        if given:
            found[name] = tensors[given[0]]
    return found


def _check_names(module, tensors):
    """With strict=True every name must be given, and none else."""
    known = _names_of_tied(module).keys()
    problems = []
    for words, names in (("Unexpected", sorted(tensors.keys() - known)), ("Missing", sorted(known - tensors.keys()))):
        if names:
            problems.append(f"{words} key(s): " + ", ".join(f"'{name}'" for name in names) + ".")
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))


_ABSENT = object()


class _Place:
    """Where a module keeps a tensor."""

    def __init__(self, module: Module, path: Any, value: Tensor) -> None:
        *above, self.name = path.split(".")
        for each in above:
            child = getattr(module, each, None)
            if child is not None and not isinstance(child, Module):
                raise TypeError(f"submodule `{each}`: {child} is not an instance of torch.nn.Module")
            module = module.get_submodule(each)
        if not self.name:
            raise KeyError('tensor name can\'t be empty string ""')
        self.dict = next((tensors for tensors in (module._parameters, module._buffers) if self.name in tensors),
                         module._parameters if isinstance(value, Parameter) else module.__dict__)
        held = self.dict.get(self.name)
        if held is not None and not isinstance(held, TensorBase):
            raise TypeError(f"attribute `{self.name}`: {held} is not an instance of torch.Tensor")

    def swap(self, value: Tensor) -> Any:
        """Set a tensor, None or _ABSENT, in the same place of the order; returns the previous value."""
        old = self.dict.get(self.name, _ABSENT)
        if value is _ABSENT:
            self.dict.pop(self.name, None)
        else:
            self.dict[self.name] = value
        return old


@contextmanager
def _reparametrize_module(module, tensors, tie_weights=False, strict=False):
    """Within this context the module has these tensors; `tensors` gets what the module has made of them."""
    given = _with_ties(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, given)
    for value in given.values():
        if value is not None and not isinstance(value, TensorBase):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    places = {name: _Place(module, name, value) for name, value in given.items()}
    orders = [(place.dict, list(place.dict)) for place in places.values()]
    own = {name: place.swap(given[name]) for name, place in places.items()}
    try:
        yield
    finally:
        for name, place in places.items():
            found = place.swap(own[name])
            if name in tensors:
                tensors[name] = None if found is _ABSENT else found
        for tensors_of, names in orders:
            tensors_of.update({name: tensors_of.pop(name) for name in names if name in tensors_of})


def _functional_call(module, tensors, args=None, kwargs=None, *, tie_weights=True, strict=False):
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any | tuple | None = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """torch.func.functional_call under its old name.

    Arguments:
        module: the module
        parameters_and_buffers: tensors by name, in place of the module's own
        args: the arguments; one, or a tuple
        kwargs: the arguments by name; None means none
        tie_weights: whether names of the same tensor are all replaced
        strict: whether missing and unexpected names raise an error

    Example:
        >>> net = nn.Linear(1, 1)
        >>> parameters = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
        >>> y = nn.utils.stateless.functional_call(net, parameters, torch.tensor([3.0]))
        >>> y
        tensor([7.])
    """
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
                  "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
                  "replacement.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
