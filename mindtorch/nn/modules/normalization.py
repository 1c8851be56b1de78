"""Normalisation within each sample."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mindtorch.nn import functional as F
from mindtorch.nn.modules.affine import Affine
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.utils import described

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.nn.parameter import Parameter
    from mindtorch.types import Device

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _AcrossChannels(FunctionLayer):
    def extra_repr(self) -> str:
        return f"{self.size}, {described(self, 'alpha', 'beta', 'k')}"


class LocalResponseNorm(_AcrossChannels):
    """Each element divided by what `size` neighbouring channels have.

    Arguments:
        size: how many channels
        alpha: the factor of the sum

    Example:
        >>> nn.LocalResponseNorm(2)(torch.ones(1, 4, 3)).shape
        torch.Size([1, 4, 3])
    """

    size: int
    alpha: float
    beta: float
    k: float

    _function_ = staticmethod(F.local_response_norm)

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self._store_(locals())


class CrossMapLRN2d(_AcrossChannels):
    """LocalResponseNorm of (N, C, H, W) as torch computes it: the window reaches (size - 1) // 2 channels to each
    side, and the first channel counts for those behind it too. Gradients are the derivative of just that.

    Arguments:
        size: how many channels
        alpha: the factor of the sum

    Example:
        >>> nn.CrossMapLRN2d(2)(torch.ones(1, 4, 3, 3)).shape
        torch.Size([1, 4, 3, 3])
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        self._store_(locals())

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        squares = F.pad(input * input, (0, 0, 0, 0, reach, reach))
        channels = input.size(1)
        total = sum(squares.narrow(1, start, channels) for start in range(2 * reach + 1))
        behind = min(reach + 1, channels)
        first = squares.narrow(1, reach, 1).expand(-1, channels - behind, -1, -1)
        total = total + F.pad(first, (0, 0, 0, 0, behind, 0))
        return input * (self.k + total * (self.alpha / self.size)) ** -self.beta


class LayerNorm(Affine):
    """Mean 0 and variance 1 over the last dimensions, `normalized_shape`, then times weight plus bias.

    Example:
        >>> nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.0000,  1.0000]])
    """

    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool
    bias: Parameter

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-05, elementwise_affine: bool = True,
                 bias: bool = True, device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._set_affine_(self.normalized_shape, {"weight": elementwise_affine, "bias": elementwise_affine and bias},
                          device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {described(self, 'eps', 'elementwise_affine')}, bias={self.bias is not None}"


class GroupNorm(Affine):
    """Mean 0 and variance 1 for each group of channels of each sample, then times weight plus bias.

    Arguments:
        num_groups: the number of groups
        num_channels: the number of channels

    Example:
        >>> nn.GroupNorm(1, 2)(torch.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.0000,  1.0000]])
    """

    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    bias: Parameter

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True,
                 device: Device = None, dtype: dtype | None = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._set_affine_(num_channels, {"weight": affine, "bias": affine and bias}, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, {described(self, 'eps', 'affine')}, "
                f"bias={self.bias is not None}")


class RMSNorm(Affine):
    """Divided by the root of the mean square over the last dimensions, `normalized_shape`, then times weight.

    Example:
        >>> nn.RMSNorm(2)(torch.tensor([[3.0, 3.0]])).detach()
        tensor([[1., 1.]])
    """

    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
                 device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._set_affine_(self.normalized_shape, {"weight": elementwise_affine}, device, dtype)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {described(self, 'eps', 'elementwise_affine')}"
