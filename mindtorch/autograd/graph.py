"""torch.autograd.graph: nodes, edges, and hooks on what is saved for backward."""
from collections import namedtuple

from mindtorch._core.autograd.engine import gradient_edge_of
from mindtorch._core.autograd.node import Node, pop_saved_tensors_hooks, push_saved_tensors_hooks
from mindtorch._core.tensor.attributes import increment_version

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version", "save_on_cpu", "saved_tensors_hooks"]

GradientEdge = namedtuple("GradientEdge", ("node", "output_nr"))


def get_gradient_edge(tensor):
    """The node, and the number of its output, through which the tensor's gradient comes."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*gradient_edge_of(tensor))


class saved_tensors_hooks:
    """Context manager: tensors saved for backward go through pack_hook, and through unpack_hook when they are used."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception):
        pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Context manager: tensors saved for backward are kept in host memory (page-locked with `pin_memory`)."""

    def __init__(self, pin_memory=False, device_type="npu"):
        def pack(tensor):
            host = tensor.cpu()
            return tensor.device, host.pin_memory() if pin_memory and tensor.is_npu else host

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)
