"""torch.ao.quantization: the places that models mark. There are no quantized tensors: nothing is converted at them."""
from mindtorch._refusals.modules import refused_names
from mindtorch.nn import Module

__all__ = ["DeQuantStub", "QuantStub"]


class QuantStub(Module):
    """Where a converted model would quantize its input. Hands it on."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Where a converted model would make floating point numbers of its output. Hands it on."""


__getattr__ = refused_names(__name__)
