"""Limits on the size of gradients."""
from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, TensorBase) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _alike(tensors):
    """The tensors in groups of one device and dtype, as operators on lists take them."""
    groups = {}
    for tensor in tensors:
        groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    return groups.values()


@no_grad()
def get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The norm of all elements of all tensors, as if they were one vector.

    Arguments:
        tensors: the tensors; one, or several

    Example:
        >>> nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
        tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, TensorBase) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return mindtorch.tensor(0.0)
    norms = []
    for group in _alike(tensors):
        if foreach in (None, True):
            norms += mindtorch._foreach_norm(group, norm_type)
        else:
            norms += [mindtorch.linalg.vector_norm(tensor, norm_type) for tensor in group]
    device = tensors[0].device
    total = mindtorch.linalg.vector_norm(mindtorch.stack([norm.to(device) for norm in norms]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                           "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                           "anyway, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: Any, total_norm: Any,
                          foreach: bool | None = None) -> None:
    """Scale the gradients down if their total norm is above `max_norm`.

    Arguments:
        total_norm: the norm of all gradients together

    Example:
        >>> w = nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> norm = nn.utils.get_total_norm([w.grad])
        >>> nn.utils.clip_grads_with_norm_([w], 1.0, norm)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    gradients, limit = _gradients(parameters), float(max_norm)
    if not gradients:
        return
    # Multiplied even where the factor is 1: to look at it would be to wait for the device.
    factor = mindtorch.clamp(limit / (total_norm + 1e-6), max=1.0)
    for group in _alike(gradients):
        near = factor.to(group[0].device)
        if foreach in (None, True):
            mindtorch._foreach_mul_(group, near)
        else:
            for gradient in group:
                gradient.mul_(near)


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Scale the gradients so that their total norm is at most `max_norm`; returns the norm before.

    Example:
        >>> w = nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_([w], max_norm=1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, TensorBase):
        generated = isinstance(parameters, types.GeneratorType)
        parameters = list(parameters)
        if generated and not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """clip_grad_norm_ under its old name.

    Example:
        >>> w = nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> norm = nn.utils.clip_grad_norm([w], max_norm=1.0)
        >>> norm, w.grad
        (tensor(5.), tensor([0.6000, 0.8000]))
    """
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of the gradients to the range from -clip_value to clip_value.

    Arguments:
        clip_value: the largest absolute value that is left

    Example:
        >>> w = nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, -0.5])
        >>> nn.utils.clip_grad_value_([w], 1.0)
        >>> w.grad
        tensor([ 1.0000, -0.5000])
    """
    limit = float(clip_value)
    for group in _alike(_gradients(parameters)):
        if foreach in (None, True):
            mindtorch._foreach_clamp_min_(group, -limit)
            mindtorch._foreach_clamp_max_(group, limit)
        else:
            for gradient in group:
                gradient.clamp_(min=-limit, max=limit)
