"""Padding of one to three dimensions."""
from typing import Any

from mindtorch.nn import functional as F
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import _ntuple, described

__all__ = [f"{name}Pad{n}d" for name in ("Circular", "Constant", "Reflection", "Replication", "Zero")
           for n in (1, 2, 3)]


class _PadNd(Module):
    """Pads `_dims` dimensions; `padding` is one number, or one for each side from the last dimension."""

    __constants__ = ["padding"]
    _mode: Any = None
    _dims: Any = None

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return described(self, "padding", "value")


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd):
    """`value` before and after the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """`value` around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """`value` around the last three dimensions."""

    _dims = 3


class _ZeroPad:
    """A constant padding whose value is 0."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros before and after the last dimension."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions."""


class CircularPad1d(_CircularPadNd):
    """The other end continues the last dimension."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """The other end continues each of the last two dimensions."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """The other end continues each of the last three dimensions."""

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """The last dimension mirrored at its ends, which are not repeated."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """The last two dimensions mirrored at their edges, which are not repeated."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The last three dimensions mirrored at their faces, which are not repeated."""

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """The ends of the last dimension repeated."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """The edges of the last two dimensions repeated."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The faces of the last three dimensions repeated."""

    _dims = 3
