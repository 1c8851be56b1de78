"""A module once for each of several devices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.nn.parallel.scatter_gather import _device

if TYPE_CHECKING:
    from mindtorch import device

__all__ = ["replicate"]


def _replica(network, place, detach):
    """The network on one device; gradients of its parameters go on to the network's own."""
    tensors = {}

    def there(tensor, is_buffer):
        if id(tensor) not in tensors:
            moved = tensor.to(place)
            moved = moved.clone() if moved is tensor and not is_buffer and not detach else moved
            tensors[id(tensor)] = moved.detach() if detach or is_buffer else moved
        return tensors[id(tensor)]

    made = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, copied in made.items():
        copied._modules.update({name: made[child] for name, child in module._modules.items() if child is not None})
        for name, parameter in module._parameters.items():
            # An attribute, for it is no leaf; its name stays among those of the parameters.
            copied._parameters[name] = None if parameter is None else there(parameter, False)
        copied._buffers.update({name: there(buffer, True) for name, buffer in module._buffers.items()
                                if buffer is not None})
    return made[network]


def replicate(network: Any, devices: Sequence[int | device], detach: bool = False) -> Any:
    """The network on each device: gradients of the copies' parameters add up in the network, unless `detach`.

    Arguments:
        network: the module
        devices: the NPU of each module
        detach: whether the copies get no gradient

    Example:
        >>> layer = torch.nn.Linear(2, 1, device="npu")
        >>> torch.nn.parallel.replicate(layer, [0])[0].weight.device
        device(type='npu', index=0)
    """
    with mindtorch.set_grad_enabled(mindtorch.is_grad_enabled() and not detach):
        return [_replica(network, _device(target), detach) for target in devices]
