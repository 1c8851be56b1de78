"""Padding of one to three dimensions."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.nn import functional as F
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import _ntuple, described

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.nn.common_types import _size_any_t

__all__ = [f"{name}Pad{n}d" for name in ("Circular", "Constant", "Reflection", "Replication", "Zero")
           for n in (1, 2, 3)]


class _PadNd(Module):
    """Pads `_dims` dimensions; `padding` is one number, or one for each side from the last dimension."""

    __constants__ = ["padding"]
    _mode_: Any = None
    _dims_: Any = None

    def __init_subclass__(cls, dims: Any = None, mode: str | None = None, **others: Any) -> None:
        """The first line of a class's docstring holds for derived classes, too."""
        super().__init_subclass__(**others)
        if dims is not None:
            cls._dims_ = dims
        if mode is not None:
            cls._mode_ = mode

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims_)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode_)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd, mode="constant"):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: _size_any_t, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode_, self.value)

    def extra_repr(self) -> str:
        return described(self, "padding", "value")


class _CircularPadNd(_PadNd, mode="circular"):
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._dims_ + 1, self._dims_ + 2):
            raise ValueError(f"expected {self._dims_ + 1}D or {self._dims_ + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd, dims=1):
    """`value` before and after the last dimension.

    Example:
        >>> nn.ConstantPad1d(1, 9)(torch.arange(3.0).reshape(1, 1, 3))
        tensor([[[9., 0., 1., 2., 9.]]])
    """


class ConstantPad2d(_ConstantPadNd, dims=2):
    """`value` around the last two dimensions.

    Example:
        >>> nn.ConstantPad2d(1, 9)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ConstantPad3d(_ConstantPadNd, dims=3):
    """`value` around the last three dimensions.

    Example:
        >>> nn.ConstantPad3d(1, 9)(torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class _ZeroPad:
    """A constant padding whose value is 0."""

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros before and after the last dimension.

    Example:
        >>> nn.ZeroPad1d(1)(torch.arange(3.0).reshape(1, 1, 3))
        tensor([[[0., 0., 1., 2., 0.]]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions.

    Example:
        >>> nn.ZeroPad2d(1)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions.

    Example:
        >>> nn.ZeroPad3d(1)(torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class CircularPad1d(_CircularPadNd, dims=1):
    """The other end continues the last dimension.

    Example:
        >>> nn.CircularPad1d(1)(torch.arange(3.0).reshape(1, 1, 3))
        tensor([[[2., 0., 1., 2., 0.]]])
    """


class CircularPad2d(_CircularPadNd, dims=2):
    """The other end continues each of the last two dimensions.

    Example:
        >>> nn.CircularPad2d(1)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class CircularPad3d(_CircularPadNd, dims=3):
    """The other end continues each of the last three dimensions.

    Example:
        >>> nn.CircularPad3d(1)(torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class _ReflectionPadNd(_PadNd, mode="reflect"):
    """Mirrors."""


class ReflectionPad1d(_ReflectionPadNd, dims=1):
    """The last dimension mirrored at its ends, which are not repeated.

    Example:
        >>> nn.ReflectionPad1d(1)(torch.arange(3.0).reshape(1, 1, 3))
        tensor([[[1., 0., 1., 2., 1.]]])
    """


class ReflectionPad2d(_ReflectionPadNd, dims=2):
    """The last two dimensions mirrored at their edges, which are not repeated.

    Example:
        >>> nn.ReflectionPad2d(1)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ReflectionPad3d(_ReflectionPadNd, dims=3):
    """The last three dimensions mirrored at their faces, which are not repeated.

    Example:
        >>> nn.ReflectionPad3d(1)(torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """


class _ReplicationPadNd(_PadNd, mode="replicate"):
    """Repeats what is at the edge."""


class ReplicationPad1d(_ReplicationPadNd, dims=1):
    """The ends of the last dimension repeated.

    Example:
        >>> nn.ReplicationPad1d(1)(torch.arange(3.0).reshape(1, 1, 3))
        tensor([[[0., 0., 1., 2., 2.]]])
    """


class ReplicationPad2d(_ReplicationPadNd, dims=2):
    """The edges of the last two dimensions repeated.

    Example:
        >>> nn.ReplicationPad2d(1)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """


class ReplicationPad3d(_ReplicationPadNd, dims=3):
    """The faces of the last three dimensions repeated.

    Example:
        >>> nn.ReplicationPad3d(1)(torch.ones(1, 1, 2, 2, 2)).shape
        torch.Size([1, 1, 4, 4, 4])
    """
