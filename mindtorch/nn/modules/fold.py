"""Windows as columns, and back."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

if TYPE_CHECKING:
    from mindtorch.nn.common_types import _size_any_t

__all__ = ["Fold", "Unfold"]


class Fold(FunctionLayer):
    """Columns added up to an image of `output_size`; the adjoint of Unfold.

    Arguments:
        padding: what unfolding added at both ends

    Example:
        >>> nn.Fold((2, 2), (2, 2))(torch.ones(1, 4, 1))
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """

    output_size: _size_any_t
    kernel_size: _size_any_t
    dilation: _size_any_t
    padding: _size_any_t
    stride: _size_any_t

    _function_ = staticmethod(F.fold)

    def __init__(self, output_size: _size_any_t, kernel_size: _size_any_t, dilation: _size_any_t = 1,
                 padding: _size_any_t = 0, stride: _size_any_t = 1) -> None:
        self._store_(locals())


class Unfold(FunctionLayer):
    """The windows of an image as columns.

    Example:
        >>> nn.Unfold(2)(torch.ones(1, 1, 3, 3)).shape
        torch.Size([1, 4, 4])
    """

    kernel_size: _size_any_t
    dilation: _size_any_t
    padding: _size_any_t
    stride: _size_any_t

    _function_ = staticmethod(F.unfold)

    def __init__(self, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0,
                 stride: _size_any_t = 1) -> None:
        self._store_(locals())
