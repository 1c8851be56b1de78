"""Losses of torch.nn.functional, with torch's shapes and errors: rows of the op table, or other operators."""

import math
import warnings
from collections.abc import Callable

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.tensor.dtype import _can_cast, _promote_types
from mindtorch._ops.composite.common import _require_tensors, scalar_type
from mindtorch._ops.operators import ops as _ops
from mindtorch.nn._functional_norm import pairwise_distance
from mindtorch.nn._reduction import get_enum, is_reduction, legacy_get_string

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy",
           "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
           "mse_loss", "multi_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
           "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"]

_mse_loss, _l1_loss, _smooth_l1_loss = _ATEN["mse_loss"], _ATEN["l1_loss"], _ATEN["smooth_l1_loss"]
_kl_div, _soft_margin_loss = _ATEN["kl_div"], _ATEN["soft_margin_loss"]
_binary_cross_entropy = _ATEN["binary_cross_entropy"]
_binary_cross_entropy_with_logits = _ATEN["binary_cross_entropy_with_logits"]
_nll_loss, _nll_loss2d = _ATEN["nll_loss_forward"], _ATEN["nll_loss2d_forward"]


def _legacy(size_average, reduce, reduction):
    """`reduction`, or what the two deprecated flags say."""
    return reduction if size_average is None and reduce is None else legacy_get_string(size_average, reduce)


def _reduced(loss, reduction):
    number = get_enum(reduction)
    return loss.mean() if number == 1 else loss.sum() if number else loss


def _broadcast_target(name, input, target):
    """Both in one shape, with a warning where they were not."""
    if target.shape == input.shape:
        return input, target
    warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This "
                  "will likely lead to incorrect results due to broadcasting. Please ensure they have the same "
                  "size.", stacklevel=3)
    return _ops.broadcast_tensors(input, target)


def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """The squared difference."""
    input, target = _broadcast_target("mse_loss", input, target)
    reduction = _legacy(size_average, reduce, reduction)
    if weight is None:
        return _mse_loss(input, target, get_enum(reduction))
    return _weighted(_mse_loss(input, target, 0), weight, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """The absolute difference."""
    input, target = _broadcast_target("l1_loss", input, target)
    reduction = _legacy(size_average, reduce, reduction)
    if weight is None:
        return _l1_loss(input, target, get_enum(reduction))
    return _weighted(_l1_loss(input, target, 0), weight, reduction)


def _weighted(loss, weight, reduction):
    """With weights, the mean is that of the weights."""
    if weight is None:
        return _reduced(loss, reduction)
    if reduction == "mean":
        return (loss * weight).sum() / weight.expand(loss.shape).sum()
    return _reduced(loss * weight, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Half the squared difference over `beta` below `beta`, the absolute difference less beta / 2 above."""
    input, target = _broadcast_target("smooth_l1_loss", input, target)
    reduction = _legacy(size_average, reduce, reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _smooth_l1_loss(input, target, get_enum(reduction), beta)


@with_autocast_policy("huber_loss")
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:
    """Half the squared difference below `delta`, delta * (difference - delta / 2) above."""
    input, target = _broadcast_target("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    common = _promote_types(input.dtype, target.dtype)
    if not _can_cast(common, input.dtype):
        raise RuntimeError(f"result type {scalar_type(common)} can't be cast to the desired output type "
                           f"{scalar_type(input.dtype)}")
    distance = (input.to(common) - target.to(common)).abs()
    loss = _ops.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))
    return _weighted(loss.to(input.dtype), weight, reduction)


def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log(target) - input); with log_target, `target` is a logarithm already."""
    reduction = _legacy(size_average, reduce, reduction)
    if reduction == "batchmean":
        loss = _kl_div(input, target, 2, log_target=log_target)
        return loss / input.size(0) if input.dim() else loss
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                      "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                      stacklevel=2)
    return _kl_div(input, target, get_enum(reduction), log_target=log_target)


@with_autocast_policy("poisson_nll_loss")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps); `full` adds Stirling's term."""
    _require_tensors("poisson_nll_loss", input=input, target=target)
    reduction = _legacy(size_average, reduce, reduction)
    if not is_reduction(reduction):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        above = _ops.where(target > 1, target, _ops.ones_like(target))
        stirling = above * above.log() - above + 0.5 * (2 * math.pi * above).log()
        loss = loss + _ops.where(target > 1, stirling, _ops.zeros_like(stirling))
    return _reduced(loss, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """0.5 * (log(var) + (input - target)^2 / var), with `var` at least `eps`."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = _ops.full_like(input, var)
    elif bool((var < 0).any().item()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or [own for own, size in zip(var.shape, input.shape, strict=True)
                                          if own != size] != [1]:      # shared along one dimension
            raise ValueError("var is of incorrect size")
    if not is_reduction(reduction):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    var.detach().clamp_(min=eps)                # without history: the gradient is that of var, also where it was eps
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


@with_autocast_policy("hinge_embedding_loss")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """`input` where the target is 1, max(0, margin - input) where it is -1."""
    zeros = _ops.zeros_like(input)
    similar = _ops.where(target == -1, zeros, input)
    limit = _ops.full((), margin, dtype=input.dtype, device=input.device)       # torch rounds it to the input's dtype
    different = _ops.where(target == 1, zeros, (limit - input).clamp(min=0))
    return _reduced(similar + different, _legacy(size_average, reduce, reduction))


def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input))."""
    return _soft_margin_loss(input, target, get_enum(_legacy(size_average, reduce, reduction)))


@with_autocast_policy("margin_ranking_loss")
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                        size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    loss = (-target * (input1 - input2) + float(margin)).clamp(min=0)
    return _reduced(loss, _legacy(size_average, reduce, reduction))


@with_autocast_policy("cosine_embedding_loss")
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: bool | None = None, reduce: bool | None = None,
                          reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    if target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    epsilon = 1e-12
    product = (input1 * input2).sum(target.dim())
    sizes = ((input1 * input1).sum(target.dim()) + epsilon) * ((input2 * input2).sum(target.dim()) + epsilon)
    cosine = product / sizes.sqrt()
    zeros = _ops.zeros_like(cosine)
    loss = _ops.where(target == 1, 1 - cosine, zeros) + _ops.where(target == -1, (cosine - margin).clamp(min=0), zeros)
    return _reduced(loss, _legacy(size_average, reduce, reduction))


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), whose logarithms are at least -100.

    On an NPU nobody looks whether chances lie between 0 and 1: aclnnBinaryCrossEntropy does not.
    """
    reduction = get_enum(_legacy(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) "
                         "is deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(_ops.broadcast_shapes(target.shape, weight.shape))
    return _binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: bool | None = None, reduce: bool | None = None,
                                     reduction: str = "mean", pos_weight: Tensor | None = None) -> Tensor:
    """binary_cross_entropy of sigmoid(input), exact where the sigmoid itself would be 0 or 1."""
    reduction = get_enum(_legacy(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                size_average: bool | None = None, reduce: bool | None = None,
                                reduction: str = "mean") -> Tensor:
    """The mean over classes of binary_cross_entropy_with_logits."""
    log_sigmoid = _ATEN["log_sigmoid"]
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(input.dim() - 1) / input.size(input.dim() - 1), _legacy(size_average, reduce, reduction))


@with_autocast_policy("triplet_margin_loss")
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""
    reduction = _legacy(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative "
                           f"{negative.dim()}D inputs")

    def distance(a, b):
        return pairwise_distance(a, b, p, eps)
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """triplet_margin_loss with any distance."""
    if not is_reduction(reduction):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
                           f"{negative.ndim}D inputs")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(anchor, positive, negative, distance, margin, swap, reduction):
    far = distance(anchor, negative)
    if swap:
        far = _ops.minimum(far, distance(positive, negative))
    return _reduced((distance(anchor, positive) - far + margin).clamp(min=0), reduction)


# --- classes ---------------------------------------------------------------------------------------------------------

@with_autocast_policy("nll_loss")
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """-weight[target] * input[target] of logarithms of probabilities (N, C, ...) and classes (N, ...)."""
    number = get_enum(_legacy(size_average, reduce, reduction))
    if input.dim() == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if input.dim() > 1 and input.size(0) != target.size(0):
        raise ValueError(f"Expected input batch_size ({input.size(0)}) to match target batch_size ({target.size(0)}).")
    if input.dim() <= 2:
        return _nll_loss(input, target, weight, number, ignore_index)[0]
    if input.dim() == 4:
        return _nll_loss2d(input, target, weight, number, ignore_index)[0]
    batch, classes, *places = input.shape
    if input.shape[2:] != target.shape[1:]:
        raise RuntimeError(f"Expected target size {[batch, *places]}, got {list(target.shape)}")
    count = math.prod(places)
    loss = _nll_loss2d(input.reshape(batch, classes, 1, count), target.reshape(batch, 1, count), weight, number,
                       ignore_index)[0]
    return loss.reshape(target.shape) if number == 0 else loss


@with_autocast_policy("cross_entropy_loss")
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """nll_loss of log_softmax(input); `target` are classes, or probabilities in the shape of `input`."""
    reduction = _legacy(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    classes = 0 if input.dim() == 1 else 1
    logs = _ops.log_softmax(input, classes)
    if input.shape == target.shape and target.is_floating_point():
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, classes)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    smooth = _smooth_loss(logs, target, weight, ignore_index, reduction, classes)
    return (1 - label_smoothing) * loss + label_smoothing / input.size(classes) * smooth


def _class_weights(logs, weight, classes):
    return logs if weight is None else logs * weight.reshape((-1,) + (1,) * (logs.dim() - classes - 1))


def _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, classes):
    count = logs.size(classes)
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / count
    loss = -(_class_weights(logs, weight, classes) * target).sum(classes)
    if reduction == "mean":
        return loss.sum() / max(logs.numel() // count, 1)
    return _reduced(loss, reduction)


def _smooth_loss(logs, target, weight, ignore_index, reduction, classes):
    """The sum of all classes' losses, without samples that are ignored."""
    ignored = target == ignore_index
    loss = -_class_weights(logs, weight, classes).sum(classes)
    loss = _ops.where(ignored, _ops.zeros_like(loss), loss)
    if reduction != "mean":
        return _reduced(loss, reduction)
    if weight is None:
        return loss.sum() / (~ignored).sum()
    named = _ops.where(ignored, _ops.zeros_like(target), target)
    weights = _ops.embedding(weight.unsqueeze(-1), named).squeeze(-1)
    return loss.sum() / _ops.where(ignored, _ops.zeros_like(weights), weights).sum()


def _check_margins(input, target, p, weight, reduction):
    if not is_reduction(reduction):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight.requires_grad and is_grad_enabled():
        raise RuntimeError("The function 'multi_margin_loss' is not differentiable with respect to argument 'weight'. "
                           "This input cannot have requires_grad True.")
    shape = list(input.shape)
    if input.dim() > 2 or 0 in shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}")
    samples = shape[0] if input.dim() == 2 else 1
    if target.dim() > 1 or target.numel() != samples:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
                           f"samples (batch size). Expected target size [{samples}], but got {list(target.shape)}. "
                           f"Input has shape {shape}.")
    if weight is not None and weight.numel() != input.numel() // max(samples, 1):
        raise RuntimeError(f"inconsistent weight size, expected {input.numel() // max(samples, 1)} but got "
                           f"{list(weight.shape)}")
    if scalar_type(target.dtype) != "Long":
        raise RuntimeError(f"expected scalar type Long but found {scalar_type(target.dtype)}")
    if not input.is_floating_point() or (input.device.type == "cpu" and input.element_size() < 4):
        raise NotImplementedError('"multi_margin_loss_cpu_kernel" not implemented for '
                                  f"'{scalar_type(input.dtype)}'")
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(input.dtype)} but found {scalar_type(weight.dtype)}")


@with_autocast_policy("multi_margin_loss")
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """max(0, margin - input[target] + input)^p over the other classes, divided by the number of classes."""
    reduction = _legacy(size_average, reduce, reduction)
    _check_margins(input, target, p, weight, reduction)
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    places = _ops.arange(rows.size(1), device=input.device)
    hit = target.reshape(-1, 1) == places
    chosen = rows.gather(1, target.reshape(-1, 1))              # finds a target that is out of range
    gap = margin - chosen + rows
    loss = _ops.where(gap > 0, gap, _ops.zeros_like(gap))       # not clamp: as in torch, NaN is no loss
    loss = loss * loss if p == 2 else loss
    if weight is not None:
        loss = loss * _ops.where(hit, weight, _ops.zeros_like(weight)).sum(1, keepdim=True)
    loss = _ops.where(hit, _ops.zeros_like(loss), loss).sum(1) / rows.size(1)
    return _reduced(loss if input.dim() == 2 else loss.reshape(target.shape), reduction)
