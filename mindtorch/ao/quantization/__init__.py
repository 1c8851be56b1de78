"""torch.ao.quantization: the places that models mark. There are no quantized tensors: nothing is converted at them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch._submodules import module_getattr
from mindtorch.nn import Module

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["DeQuantStub", "QuantStub"]


class QuantStub(Module):
    """Where a converted model would quantize its input. Hands it on.

    Arguments:
        qconfig: kept as an attribute

    Example:
        >>> torch.ao.quantization.QuantStub()(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Where a converted model would make floating point numbers of its output. Hands it on.

    Arguments:
        qconfig: kept as an attribute

    Example:
        >>> torch.ao.quantization.DeQuantStub()(torch.ones(2))
        tensor([1., 1.])
    """


__getattr__ = module_getattr(__name__)
