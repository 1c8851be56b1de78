"""Dimensions joined and split."""
from mindtorch import flatten
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described

__all__ = ["Flatten", "Unflatten"]


class Flatten(FunctionLayer):
    """Dimensions `start_dim` to `end_dim` become one."""

    _function = staticmethod(flatten)

    def __init__(self, start_dim=1, end_dim=-1):
        self._keep(locals())


class Unflatten(Module):
    """Dimension `dim` becomes several, of the sizes `unflattened_size`."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type "
                            f"{type(unflattened_size).__name__}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {i}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return described(self, "dim", "unflattened_size")
