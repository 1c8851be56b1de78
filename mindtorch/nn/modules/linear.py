"""Linear maps."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mindtorch import empty, no_grad
from mindtorch.nn import functional as F
from mindtorch.nn import init
from mindtorch.nn.modules.lazy import LazyModuleMixin
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described, uniform_within
from mindtorch.nn.parameter import Parameter, UninitializedParameter

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.types import Device

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Gives back its input; arguments are accepted and ignored.

    Example:
        >>> nn.Identity()(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """input @ weight.T + bias; weight (out_features, in_features).

    Example:
        >>> layer = nn.Linear(3, 4)
        >>> layer(torch.ones(2, 3)).shape
        torch.Size([2, 4])
    """

    in_features: int
    out_features: int
    weight: Tensor
    bias: Parameter

    __constants__ = ["in_features", "out_features"]

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(in_features), weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            uniform_within(1 / math.sqrt(self.in_features) if self.in_features else 0, [self.bias])

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{described(self, 'in_features', 'out_features')}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that tools which quantize layers leave alone: the output projection of attention."""


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the last dimension of the first input.

    Example:
        >>> layer = nn.LazyLinear(4)
        >>> layer(torch.ones(2, 3)).shape
        torch.Size([2, 4])
        >>> layer.in_features
        3
    """

    weight: UninitializedParameter
    bias: UninitializedParameter

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """As Linear, where there is something to reset."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Weight and bias for this input."""
        features = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = features
                self.weight.materialize((self.out_features, features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        elif not self.in_features:           # the weight was loaded
            if features != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {features} is not equal to in_features "
                                     f"from self.weight: {self.weight.shape[-1]}")
            self.in_features = features


class Bilinear(Module):
    """input1 @ weight[k] @ input2 + bias[k] for each output k; weight (out, in1, in2).

    Arguments:
        in1_features: the size of the first input's last dimension
        in2_features: the size of the second input's last dimension

    Example:
        >>> nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
        torch.Size([5, 4])
    """

    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor
    bias: Parameter

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
                 device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(in1_features), weight and bias."""
        uniform_within(1 / math.sqrt(self.weight.size(1)), self.parameters())

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{described(self, *self.__constants__)}, bias={self.bias is not None}"
