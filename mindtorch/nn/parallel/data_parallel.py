"""A module whose batch is computed in parts on several NPUs."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import device
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parallel.parallel_apply import parallel_apply
from mindtorch.nn.parallel.replicate import replicate
from mindtorch.nn.parallel.scatter_gather import gather, scatter_kwargs

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["DataParallel", "data_parallel"]


def _index(target):
    """The number of an NPU."""
    return target if isinstance(target, int) else device(target).index or 0


class DataParallel(Module):
    """Calls `module` with a part of the batch on each NPU, and gathers what they give on `output_device`.

    With one NPU the module is moved there; without any it is called as it is.

    Arguments:
        module: the module
        device_ids: the NPUs, as indexes; None means all
        output_device: where the results come to; None means the first NPU
        dim: the dimension of the batch

    Example:
        >>> net = nn.DataParallel(nn.Linear(2, 3))
        >>> net(torch.ones(4, 2)).shape
        torch.Size([4, 3])
    """

    def __init__(self, module: Any, device_ids: Sequence[int | device] | None = None,
                 output_device: int | device | None = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = []
        if not mindtorch.npu.is_available():
            return
        found = range(mindtorch.npu.device_count()) if device_ids is None else device_ids
        self.device_ids = [_index(target) for target in found]
        if not self.device_ids:
            raise RuntimeError("no available devices were found")
        self.dim = dim
        self.output_device = self.device_ids[0] if output_device is None else _index(output_device)
        self.src_device_obj = device("npu", self.device_ids[0])
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for tensor in chain(self.module.parameters(), self.module.buffers()):
            if tensor.device != self.src_device_obj:
                raise RuntimeError("module must have its parameters and buffers on device "
                                   f"{self.src_device_obj} (device_ids[0]) but found one of them on device: "
                                   f"{tensor.device}")
        inputs, kwargs = self.scatter(inputs, kwargs, self.device_ids)
        if not inputs:
            inputs, kwargs = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*inputs[0], **kwargs[0])
        replicas = self.replicate(self.module, self.device_ids[:len(inputs)])
        return self.gather(self.parallel_apply(replicas, inputs, kwargs), self.output_device)

    def replicate(self, module: Any, device_ids: Sequence[int | device]) -> Any:
        """The module on each device."""
        return replicate(module, device_ids)

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None,
                device_ids: Sequence[int | device]) -> Any:
        """The arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Any, inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """The results of each device."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[:len(replicas)])

    def gather(self, outputs: Any, output_device: int | device) -> Any:
        """The results together."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(module: Module, inputs: Any, device_ids: Sequence[int | device] | None = None,
                  output_device: int | device | None = None, dim: int = 0, module_kwargs: Any | None = None) -> Tensor:
    """One call of a module as DataParallel makes it.

    Arguments:
        module: the module
        inputs: the arguments: a tensor, or containers of them
        device_ids: the NPUs, as indexes; None means all
        output_device: where the results come to; None means the first NPU
        dim: the dimension of the batch
        module_kwargs: the arguments by name; None means none

    Example:
        >>> layer = torch.nn.Linear(2, 1, device="npu")
        >>> torch.nn.parallel.data_parallel(layer, torch.ones(4, 2, device="npu"), device_ids=[0]).shape
        torch.Size([4, 1])
    """
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
