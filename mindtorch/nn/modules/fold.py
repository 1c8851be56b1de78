"""Windows as columns, and back."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Columns added up to an image of `output_size`; the adjoint of Unfold."""

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return described(self, *self.__constants__)


class Unfold(Module):
    """The windows of an image as columns."""

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return described(self, *self.__constants__)
