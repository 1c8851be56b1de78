"""Devices, streams and memory of NPUs; autograd; distributions."""
from typing import Any

import mindtorch as torch
from mindtorch import Tensor
from mindtorch import distributed as dist
from mindtorch.autograd import Function
from mindtorch.distributions import Categorical, Normal, kl_divergence
from mindtorch.utils.checkpoint import checkpoint


class Double(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (_x,) = ctx.saved_tensors
        return gradients[0] * 2


count: int = torch.npu.device_count()
available: bool = torch.npu.is_available()
if available:
    torch.npu.set_device(0)
    torch.npu.synchronize()
    used: int = torch.npu.memory_allocated()
    peak: int = torch.npu.max_memory_allocated(0)
    name: str = torch.npu.get_device_name(0)
    stream = torch.npu.Stream()
    event = torch.npu.Event(enable_timing=True)
    with torch.npu.stream(stream):
        event.record(stream)
    torch.npu.current_stream().wait_stream(stream)
    torch.npu.empty_cache()

x = torch.ones(3, requires_grad=True)
y: Tensor = Double.apply(x)
(gradient,) = torch.autograd.grad(y.sum(), x)
z: Tensor = checkpoint(torch.sin, x, use_reentrant=False)
normal = Normal(torch.zeros(2), torch.ones(2))
sample: Tensor = normal.rsample((4,))
likelihood: Tensor = normal.log_prob(sample).sum(-1)
entropy: Tensor = Categorical(logits=torch.zeros(4)).entropy()
distance: Tensor = kl_divergence(normal, Normal(0.0, 1.0))
jacobian = torch.func.grad(lambda value: (value ** 2).sum())(x)
threads: int = torch.get_num_threads()
if dist.is_available() and dist.is_initialized():
    dist.all_reduce(sample, op=dist.ReduceOp.SUM)
