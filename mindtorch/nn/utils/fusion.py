"""Batch norms that are evaluated, as part of the layer before them."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.nn.modules.batchnorm import _BatchNorm

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, mean, variance, eps, scale, shift, shape):
    """Weight and bias of the layer and the norm together; `shape` is how the channels lie in the weight."""
    bias = mindtorch.zeros_like(mean) if bias is None else bias
    scale = mindtorch.ones_like(mean) if scale is None else scale
    shift = mindtorch.zeros_like(mean) if shift is None else shift
    factor = scale * mindtorch.rsqrt(variance + eps)
    new_weight = (weight * factor.reshape(shape)).to(dtype=weight.dtype)
    new_bias = ((bias - mean) * factor + shift).to(dtype=bias.dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias.requires_grad)


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None,
                         transpose: bool = False) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that computes convolution and norm; None stands for no bias, 1 and 0.

    Arguments:
        conv_w: the weight of the convolution
        conv_b: its bias; None means 0

    Example:
        >>> mean, variance = torch.zeros(1), torch.tensor([3.0])
        >>> weight, bias = nn.utils.fuse_conv_bn_weights(
        ...     torch.ones(1, 1, 1, 1), None, mean, variance, 1.0, None, None)
        >>> weight.item(), bias.item()
        (0.5, 0.0)
    """
    rest = [1] * (conv_w.dim() - 2)
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [1, -1, *rest] if transpose else [-1, 1, *rest])


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:
    """Weight and bias of a Linear that computes Linear and norm.

    Arguments:
        linear_w: the weight of the linear map
        linear_b: its bias; None means 0

    Example:
        >>> mean, variance, one = torch.zeros(1), torch.tensor([3.0]), torch.ones(1)
        >>> weight, bias = nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), None, mean, variance, 1.0, one, one)
        >>> weight.detach(), bias.detach()
        (tensor([[0.5000, 0.5000]]), tensor([1.]))
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: _BatchNorm, transpose: bool = False) -> Any:
    """A copy of a convolution with the batch norm after it fused into it; both must be in eval mode.

    Arguments:
        conv: the convolution, in evaluation mode

    Example:
        >>> conv, norm = nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval()
        >>> x = torch.ones(1, 1, 4, 4)
        >>> torch.allclose(nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
        True
    """
    _check(conv, bn)
    made = copy.deepcopy(conv)
    made.weight, made.bias = fuse_conv_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps,
                                                  bn.weight, bn.bias, transpose)
    return made


def fuse_linear_bn_eval(linear: Any, bn: _BatchNorm) -> Any:
    """A copy of a Linear with the batch norm after it fused into it; both must be in eval mode.

    Arguments:
        linear: the linear map, in evaluation mode

    Example:
        >>> linear, norm = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
        >>> x = torch.ones(1, 3)
        >>> torch.allclose(nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
        True
    """
    _check(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    made = copy.deepcopy(linear)
    made.weight, made.bias = fuse_linear_bn_weights(made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias)
    return made
