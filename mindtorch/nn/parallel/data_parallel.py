"""A module whose batch is computed in parts on several NPUs."""
from itertools import chain

import mindtorch
from mindtorch import device
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parallel.parallel_apply import parallel_apply
from mindtorch.nn.parallel.replicate import replicate
from mindtorch.nn.parallel.scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _index(target):
    """The number of an NPU."""
    return target if isinstance(target, int) else device(target).index or 0


class DataParallel(Module):
    """Calls `module` with a part of the batch on each NPU, and gathers what they give on `output_device`.

    With one NPU the module is moved there; without any it is called as it is.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
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

    def forward(self, *inputs, **kwargs):
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

    def replicate(self, module, device_ids):
        """The module on each device."""
        return replicate(module, device_ids)

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        """The results of each device."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[:len(replicas)])

    def gather(self, outputs, output_device):
        """The results together."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """One call of a module as DataParallel makes it."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
