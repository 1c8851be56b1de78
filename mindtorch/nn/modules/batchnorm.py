"""Normalisation of channels over the batch."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch import cat, full, get_default_dtype, int64, tensor
from mindtorch.nn import functional as F
from mindtorch.nn.modules.affine import Affine
from mindtorch.nn.modules.lazy import LazyModuleMixin
from mindtorch.nn.parameter import UninitializedBuffer, UninitializedParameter

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.nn.modules.module import Module
    from mindtorch.nn.parameter import Parameter
    from mindtorch.types import Device

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
           "SyncBatchNorm"]


# Running statistics: (value before the first batch, whether it is one count instead of a number for each channel).
_BEFORE_THE_FIRST_BATCH = {"running_mean": (0, False), "running_var": (1, False), "num_batches_tracked": (0, True)}


class _NormBase(Affine):
    """Weight, bias and running statistics of the channels; `_input_dims` are the dimensions that an input may have."""

    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    bias: Parameter
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _input_dims_: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Device = None, dtype: dtype | None = None, *,
                 bias: bool = True) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._set_affine_(num_features, {"weight": affine, "bias": affine and bias}, device, dtype)
        for name, (value, is_count) in _BEFORE_THE_FIRST_BATCH.items():
            shape, kind = ((), int64) if is_count else ((num_features,), dtype)
            self.register_buffer(name, full(shape, value, device=device, dtype=kind or get_default_dtype())
                                 if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        if self.track_running_stats:
            for name, (value, _) in _BEFORE_THE_FIRST_BATCH.items():
                getattr(self, name).fill_(value)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and statistics as of no batches."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input):
        if input.dim() not in self._input_dims_:
            expected = " or ".join(f"{dims}D" for dims in self._input_dims_)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Before version 2 the batches were not counted: what lacks the count keeps this module's."""
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            state_dict.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """Norms whose num_features are the second dimension of the first input."""

    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(self, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True,
                 device: Device = None, dtype: dtype | None = None, *, bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            if wanted:
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """As other norms, where there is something to reset."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Parameters and statistics for this input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for each in (self.weight, self.bias, self.running_mean, self.running_var):
                if each is not None:
                    each.materialize((self.num_features,))
            self.reset_parameters()


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        # Without a momentum the running statistics are the mean over all batches.
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        known = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if known else None, self.running_var if known else None,
                            self.weight, self.bias, from_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C) or (N, C, L), then times weight plus bias.

    Example:
        >>> nn.BatchNorm1d(1)(torch.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
    """

    _input_dims_ = 2, 3


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, H, W), then times weight plus bias.

    Example:
        >>> nn.BatchNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    _input_dims_ = (4,)


class BatchNorm3d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, D, H, W), then times weight plus bias.

    Example:
        >>> nn.BatchNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _input_dims_ = (5,)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d whose num_features are the channels of the first input.

    Example:
        >>> nn.LazyBatchNorm1d()(torch.ones(2, 3, 5)).shape
        torch.Size([2, 3, 5])
    """

    cls_to_become = BatchNorm1d
    _input_dims_ = BatchNorm1d._input_dims_


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d whose num_features are the channels of the first input.

    Example:
        >>> nn.LazyBatchNorm2d()(torch.ones(2, 3, 5, 5)).shape
        torch.Size([2, 3, 5, 5])
    """

    cls_to_become = BatchNorm2d
    _input_dims_ = BatchNorm2d._input_dims_


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d whose num_features are the channels of the first input.

    Example:
        >>> nn.LazyBatchNorm3d()(torch.ones(2, 3, 5, 5, 5)).shape
        torch.Size([2, 3, 5, 5, 5])
    """

    cls_to_become = BatchNorm3d
    _input_dims_ = BatchNorm3d._input_dims_


class SyncBatchNorm(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, ...), over the batches of all processes of a group.

    A process without a group is alone: its batch is the whole.

    Arguments:
        process_group: the processes whose batches are one; None means all

    Example:
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
        SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any | None = None, device: Device = None,
                 dtype: dtype | None = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        from mindtorch import distributed
        together = self.training and distributed.is_initialized()
        if not together or distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        from mindtorch.distributed.nn.functional import all_reduce
        group = self.process_group or distributed.group.WORLD
        others = [each for each in range(input.dim()) if each != 1]
        x = input.float()
        count = x.new_tensor([input.numel() // input.shape[1]])
        sums = all_reduce(cat([x.sum(others), count]), group=group)
        count, across = sums[-1].detach(), (1, -1, *[1] * (input.dim() - 2))
        mean = sums[:-1] / count
        centered = x - mean.view(across)
        variance = all_reduce((centered * centered).sum(others), group=group) / count
        if self.track_running_stats:
            self._count_batch_(mean.detach(), variance.detach() * (count / (count - 1)))
        result = centered * (variance + self.eps).rsqrt().view(across)
        if self.weight is not None:
            result = result * self.weight.view(across)
        if self.bias is not None:
            result = result + self.bias.view(across)
        return result.to(input.dtype)

    def _count_batch_(self, mean, variance):
        self.num_batches_tracked.add_(1)
        share = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(variance.to(self.running_var.dtype), share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Any:
        """`module` with a SyncBatchNorm, of the same parameters and statistics, in the place of every batch norm."""
        made = module
        if isinstance(module, _BatchNorm):
            made = SyncBatchNorm(module.num_features, module.eps, module.momentum, module.affine,
                                 module.track_running_stats, process_group, bias=module.bias is not None)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
            if hasattr(module, "qconfig"):
                made.qconfig = module.qconfig
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
