"""Normalisation of each channel of each sample."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mindtorch.nn import functional as F
from mindtorch.nn.modules.batchnorm import _LazyNormBase, _NormBase

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.types import Device

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d"]


class _InstanceNorm(_NormBase):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Device = None, dtype: dtype | None = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self):
        return self._input_dims_[0]

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self._get_no_batch_dim()
        dim = 0 if unbatched else 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but "
                                 f"got: {input.size(dim)}.")
            warnings.warn(f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
                          "passing in num_features, which is not used because affine=False", stacklevel=2)
        result = F.instance_norm(input.unsqueeze(0) if unbatched else input, self.running_mean, self.running_var,
                                 self.weight, self.bias, self.training or not self.track_running_stats,
                                 0.0 if self.momentum is None else self.momentum, self.eps)
        return result.squeeze(0) if unbatched else result


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sample of (N, C, L).

    Example:
        >>> nn.InstanceNorm1d(1)(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """

    _input_dims_ = 2, 3


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sample of (N, C, H, W).

    Example:
        >>> nn.InstanceNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _input_dims_ = 3, 4


class InstanceNorm3d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sample of (N, C, D, H, W).

    Example:
        >>> nn.InstanceNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _input_dims_ = 4, 5


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm1d whose num_features are the second dimension of the first input.

    Example:
        >>> nn.LazyInstanceNorm1d()(torch.ones(2, 3, 5)).shape
        torch.Size([2, 3, 5])
    """

    cls_to_become = InstanceNorm1d
    _input_dims_ = InstanceNorm1d._input_dims_


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm2d whose num_features are the second dimension of the first input.

    Example:
        >>> nn.LazyInstanceNorm2d()(torch.ones(2, 3, 5, 5)).shape
        torch.Size([2, 3, 5, 5])
    """

    cls_to_become = InstanceNorm2d
    _input_dims_ = InstanceNorm2d._input_dims_


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An InstanceNorm3d whose num_features are the second dimension of the first input.

    Example:
        >>> nn.LazyInstanceNorm3d()(torch.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 3, 5, 5, 5])
    """

    cls_to_become = InstanceNorm3d
    _input_dims_ = InstanceNorm3d._input_dims_
