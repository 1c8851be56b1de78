"""Dimensions joined and split."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch import flatten
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import _size

__all__ = ["Flatten", "Unflatten"]


class Flatten(FunctionLayer):
    """Dimensions `start_dim` to `end_dim` become one.

    Arguments:
        start_dim: the first dimension
        end_dim: the last dimension

    Example:
        >>> nn.Flatten()(torch.ones(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    start_dim: int
    end_dim: int

    _function_ = staticmethod(flatten)

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self._store_(locals())


class Unflatten(Module):
    """Dimension `dim` becomes several, of the sizes `unflattened_size`.

    Arguments:
        dim: the dimension, an int or a name
        unflattened_size: the sizes

    Example:
        >>> nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
        torch.Size([4, 2, 3])
    """

    dim: int
    unflattened_size: _size

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: _size) -> None:
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

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return described(self, "dim", "unflattened_size")
