"""Losses over labels of a sequence, over many classes of a sample, and of products with a weight."""
from typing import TYPE_CHECKING

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.operators.composites import linear
from mindtorch._ops.composite.nn import ctc_loss as _ctc_loss
from mindtorch.nn._functional_loss import _legacy, cross_entropy
from mindtorch.nn._reduction import _REDUCTIONS, get_enum, is_reduction

if TYPE_CHECKING:
    from mindtorch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

_multilabel_margin_loss = _ATEN["multilabel_margin_loss_forward"]
__all__ = ["ctc_loss", "linear_cross_entropy", "multilabel_margin_loss"]


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """-log of the probability of `targets`, over all ways to put blanks between their labels."""
    if not is_reduction(reduction):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)


@with_autocast_policy("multilabel_margin_loss")
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> Tensor:
    """max(0, 1 - input[target] + input) over all pairs of a target and another class, divided by the number of classes.

    The targets of a sample are the classes before its first -1.
    """
    reduction = get_enum(_legacy(size_average, reduce, reduction))
    return _multilabel_margin_loss(input, target, reduction)[0]


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
                         weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0, options: "LinearCrossEntropyOptions | None" = None) -> Tensor:
    """cross_entropy of linear(input, linear_weight, linear_bias), whose weight may have dimensions behind the classes.

    `options` say in how many parts torch computes it; here it is one.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively")
    classes = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != classes:
        raise RuntimeError(f"expected linear_bias shape {classes}, got {tuple(linear_bias.shape)}")
    if len(classes) > 1 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
                           f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
                           f"{tuple(input.shape)}")
    shape = (*input.shape[:-1], *classes)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, input.shape[-1]), bias).reshape(shape)
    return cross_entropy(logits, target, weight, ignore_index=-100 if ignore_index is None else ignore_index,
                         reduction=reduction, label_smoothing=label_smoothing)
