"""Batches in pinned memory, from which copies to the NPU need not wait."""
import mindtorch
from mindtorch.utils.data._utils.containers import is_nested, map_values

__all__ = ["pin_memory"]


def pin_memory(data, device=None):
    """`data` with every tensor in it pinned; what has a method `pin_memory` does it itself."""
    if isinstance(data, mindtorch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    return map_values(pin_memory, data, tuples_to_lists=False) if is_nested(data) else data
