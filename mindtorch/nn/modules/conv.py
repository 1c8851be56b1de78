"""Convolutions and their transposes."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from mindtorch import empty, no_grad
from mindtorch.nn import functional as F
from mindtorch.nn import init
from mindtorch.nn.modules.lazy import LazyModuleMixin
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import _ntuple, _reverse_repeat_tuple, uniform_within
from mindtorch.nn.parameter import Parameter, UninitializedParameter

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.nn.common_types import _size_any_t
    from mindtorch.types import Device

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base of all convolutions. `_dims`: the number of kernel dimensions; `_function`: the function of functional."""

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: Literal["zeros", "reflect", "replicate", "circular"]
    weight: Tensor
    bias: Tensor | None

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
                     "out_channels", "kernel_size"]
    _dims_: Any = None
    _function_: Any = None

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
                 padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool,
                 output_padding: tuple[int, ...], groups: int, bias: bool,
                 padding_mode: Literal["zeros", "reflect", "replicate", "circular"], device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__()
        sizes = _ntuple(self._dims_)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = sizes(kernel_size)
        self.stride = sizes(stride)
        self.padding = padding if isinstance(padding, str) else sizes(padding)
        self.dilation = sizes(dilation)
        self.transposed = transposed
        self.output_padding = sizes(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_arguments_()
        self._reversed_padding_repeated_twice = self._padding_of_each_side_()
        channels = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check_arguments_(self):
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got "
                             f"padding_mode='{self.padding_mode}'")

    def _padding_of_each_side_(self):
        """For functional.pad; of an odd total, "same" puts the larger half behind."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        totals = [step * (size - 1) for step, size in zip(self.dilation, self.kernel_size, strict=True)]
        same = self.padding == "same"
        return [side for total in reversed(totals) for side in ((total // 2, total - total // 2) if same else (0, 0))]

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(what adds up to one output), weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            added = init._calculate_fan_in_and_fan_out(self.weight)[0]
            if added:
                uniform_within(1 / math.sqrt(added), [self.bias])

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0
        return self._function_(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        parts += [f"{name}={getattr(self, name)}" for name, usual in
                  (("padding", 0), ("dilation", 1), ("output_padding", 0))
                  if getattr(self, name) != (usual,) * self._dims_]
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)


class _PlainConv(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                 padding: str | _size_any_t = 0, dilation: _size_any_t = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias,
                         padding_mode, device, dtype)


class Conv1d(_PlainConv):
    """Convolution of (N, C, L); weight (out_channels, in_channels / groups, size).

    Example:
        >>> nn.Conv1d(2, 4, 3, padding=1)(torch.ones(1, 2, 5)).shape
        torch.Size([1, 4, 5])
    """

    _dims_, _function_ = 1, staticmethod(F.conv1d)


class Conv2d(_PlainConv):
    """Convolution of (N, C, H, W); weight (out_channels, in_channels / groups, height, width).

    Example:
        >>> nn.Conv2d(3, 8, 3, stride=2)(torch.ones(1, 3, 9, 9)).shape
        torch.Size([1, 8, 4, 4])
    """

    _dims_, _function_ = 2, staticmethod(F.conv2d)


class Conv3d(_PlainConv):
    """Convolution of (N, C, D, H, W); weight (out_channels, in_channels / groups, depth, height, width).

    Example:
        >>> nn.Conv3d(1, 2, 3)(torch.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 2, 2, 2, 2])
    """

    _dims_, _function_ = 3, staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """The adjoint of a convolution; weight (in_channels, out_channels / groups, ...)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                 padding: str | _size_any_t = 0, output_padding: _size_any_t = 0, groups: int = 1, bias: bool = True,
                 dilation: _size_any_t = 1, padding_mode: str = "zeros", device: Device = None,
                 dtype: dtype | None = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding,
                         groups, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size: _size_any_t | None = None) -> Any:
        more = self.output_padding if output_size is None else self._output_padding(input, list(output_size))
        return self._function_(input, self.weight, self.bias, self.stride, self.padding, more, self.groups,
                               self.dilation)

    def _output_padding(self, input, output_size):
        """The padding at the end with which the result has `output_size`."""
        dims = self._dims_
        before = 2 if input.dim() == dims + 2 else 1
        if len(output_size) == before + dims:
            output_size = output_size[before:]
        if len(output_size) != dims:
            raise ValueError(f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                             f"{before + dims} elements (got {len(output_size)})")
        smallest = [(size - 1) * step - 2 * pad + gap * (kernel - 1) + 1 for size, step, pad, gap, kernel in
                    zip(input.shape[before:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)]
        largest = [size + step - 1 for size, step in zip(smallest, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(smallest, output_size, largest, strict=True)):
            raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {smallest} to "
                             f"{largest} (for an input of {input.size()[2:]})")
        return [size - low for size, low in zip(output_size, smallest, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L).

    Example:
        >>> nn.ConvTranspose1d(2, 4, 3, stride=2)(torch.ones(1, 2, 5)).shape
        torch.Size([1, 4, 11])
    """

    _dims_, _function_ = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W).

    Example:
        >>> nn.ConvTranspose2d(3, 8, 2, stride=2)(torch.ones(1, 3, 4, 4)).shape
        torch.Size([1, 8, 8, 8])
    """

    _dims_, _function_ = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W).

    Example:
        >>> nn.ConvTranspose3d(1, 2, 2)(torch.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims_, _function_ = 3, staticmethod(F.conv_transpose3d)


class _LazyConvXdMixin(LazyModuleMixin):
    """Convolutions whose in_channels are the channels of the first input."""

    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: UninitializedParameter
    bias: UninitializedParameter

    def _make_lazy_(self, out_channels, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """As other convolutions, where there is something to reset."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Weight and bias for this input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        channels = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        with no_grad():
            self.weight.materialize((channels[0], channels[1] // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input):
        dims = self._get_num_spatial_dims()
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        return input.shape[-dims - 1]

    def _get_num_spatial_dims(self):
        return self._dims_


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                 padding: str | _size_any_t = 0, dilation: _size_any_t = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._make_lazy_(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size: _size_any_t, stride: _size_any_t = 1,
                 padding: str | _size_any_t = 0, output_padding: _size_any_t = 0, groups: int = 1, bias: bool = True,
                 dilation: _size_any_t = 1, padding_mode: str = "zeros", device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._make_lazy_(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d whose in_channels are the channels of the first input.

    Example:
        >>> nn.LazyConv1d(4, 3)(torch.ones(1, 2, 5)).shape
        torch.Size([1, 4, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d whose in_channels are the channels of the first input.

    Example:
        >>> nn.LazyConv2d(4, 3)(torch.ones(1, 2, 5, 5)).shape
        torch.Size([1, 4, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d whose in_channels are the channels of the first input.

    Example:
        >>> nn.LazyConv3d(4, 3)(torch.ones(1, 2, 5, 5, 5)).shape
        torch.Size([1, 4, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels are the channels of the first input.

    Example:
        >>> nn.LazyConvTranspose1d(4, 3)(torch.ones(1, 2, 5)).shape
        torch.Size([1, 4, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels are the channels of the first input.

    Example:
        >>> nn.LazyConvTranspose2d(4, 3)(torch.ones(1, 2, 5, 5)).shape
        torch.Size([1, 4, 7, 7])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels are the channels of the first input.

    Example:
        >>> nn.LazyConvTranspose3d(4, 3)(torch.ones(1, 2, 5, 5, 5)).shape
        torch.Size([1, 4, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d
