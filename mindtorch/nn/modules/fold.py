"""Windows as columns, and back."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["Fold", "Unfold"]


class Fold(FunctionLayer):
    """Columns added up to an image of `output_size`; the adjoint of Unfold."""

    _function = staticmethod(F.fold)

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        self._keep(locals())


class Unfold(FunctionLayer):
    """The windows of an image as columns."""

    _function = staticmethod(F.unfold)

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        self._keep(locals())
