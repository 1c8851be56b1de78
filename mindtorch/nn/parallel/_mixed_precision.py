"""Mixed precision of DistributedDataParallel: parameters are lower from a forward to the end of its backward."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import mindtorch
from mindtorch._core.autograd.engine import queue_callback

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.nn import Parameter

__all__ = ["LowerParameters", "_MixedPrecision"]


@dataclass
class _MixedPrecision:
    """Dtypes that DistributedDataParallel computes with, reduces gradients in, and keeps buffers in; None: as they are.

    The optimizer sees parameters and gradients in the dtype that they have been made with.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None


class LowerParameters:
    """Gives parameters the data of a lower precision, and back."""

    def __init__(self, parameters: list[Parameter], buffers: list[Tensor], precision: _MixedPrecision) -> None:
        self._parameters, self._precision = parameters, precision
        self._whole: list[Tensor] | None = None
        self._waits = False
        for buffer in buffers if precision.buffer_dtype is not None else ():
            buffer.data = buffer.to(precision.buffer_dtype)

    @property
    def reduce_dtype(self) -> dtype | None:
        """What gradients are reduced in; None where it is not said."""
        return self._precision.reduce_dtype or self._precision.param_dtype

    @property
    def compute_dtype(self) -> dtype | None:
        """What the module computes in."""
        return self._precision.param_dtype

    @mindtorch.no_grad()
    def lower(self) -> None:
        """Before a forward."""
        if self.compute_dtype is not None:
            self._whole = [each.data for each in self._parameters]
            for each, data in zip(self._parameters, self._whole, strict=True):
                each.data = data.to(self.compute_dtype)

    @mindtorch.no_grad()
    def restore(self) -> None:
        """After a backward: parameters, and their gradients, are as they have been made."""
        whole, self._whole, self._waits = self._whole, None, False
        for each, data in zip(self._parameters, whole, strict=True) if whole is not None else ():
            gradient, each.grad = each.grad, None
            each.data = data
            each.grad = None if gradient is None else gradient.to(data.dtype)

    def restore_after_backward(self) -> None:
        """Called in a backward."""
        if not self._waits:
            self._waits = True
            queue_callback(self.restore)
