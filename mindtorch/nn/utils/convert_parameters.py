"""Parameters as one vector, and back."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import mindtorch
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._tensor.type_info import typename

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _on_one_device(parameters):
    """The parameters as a list; they must be on one device."""
    parameters = list(parameters)
    if len({parameter.device for parameter in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return parameters


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements, one parameter after the other.

    Example:
        >>> nn.utils.parameters_to_vector([torch.ones(2), torch.zeros(1, 2)])
        tensor([1., 1., 0., 0.])
    """
    return mindtorch.cat([parameter.view(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make each parameter a view of its part of the vector.

    Arguments:
        vec: the elements of all parameters, one behind the other

    Example:
        >>> net = nn.Linear(2, 1)
        >>> nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), net.parameters())
        >>> net.weight.detach(), net.bias.detach()
        (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, TensorBase):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    begin = 0
    for parameter in _on_one_device(parameters):
        end = begin + parameter.numel()
        parameter.data = vec[begin:end].view_as(parameter).data
        begin = end
