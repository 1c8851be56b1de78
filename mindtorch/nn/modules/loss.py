"""Losses: the functions of functional with their arguments kept."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch.nn import functional as F
from mindtorch.nn._functional_loss import _legacy
from mindtorch.nn.modules.distance import PairwiseDistance
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.linear import Linear
from mindtorch.nn.modules.utils import described

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
    from mindtorch.types import Device

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
           "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss",
           "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
           "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
           "TripletMarginWithDistanceLoss"]


_LEGACY = ("size_average", "reduce")


class _Loss(FunctionLayer):
    """A loss keeps the arguments of its function of functional, weights as buffers, and shows none of them."""

    reduction: str

    _shown_ = ()

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        self._store_(locals())

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._passed_ = tuple(name for name in cls._passed_ if name not in _LEGACY)

    def _store_(self, given):
        reduction = _legacy(given.pop("size_average", None), given.pop("reduce", None), given["reduction"])
        weights = {name: given.pop(name) for name in ("weight", "pos_weight") if name in given}
        super()._store_({**given, "reduction": reduction})
        for name, weight in weights.items():
            self.register_buffer(name, weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._apply_to_(input, target)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        self._store_(locals())


class L1Loss(_Loss):
    """|input - target|.

    Example:
        >>> nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0]))
        tensor(1.)
    """

    _function_ = staticmethod(F.l1_loss)


class MSELoss(_Loss):
    """(input - target) squared.

    Example:
        >>> nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0]))
        tensor(2.)
    """

    _function_ = staticmethod(F.mse_loss)


class SmoothL1Loss(_Loss):
    """Squared below `beta`, absolute above.

    Arguments:
        beta: where the squared and the absolute part meet

    Example:
        >>> nn.SmoothL1Loss()(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0]))
        tensor(1.5000)
    """

    _function_ = staticmethod(F.smooth_l1_loss)

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 beta: float = 1.0) -> None:
        self._store_(locals())


class HuberLoss(_Loss):
    """Squared below `delta`, delta times the absolute above.

    Arguments:
        delta: where the squared and the linear part meet

    Example:
        >>> nn.HuberLoss()(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0]))
        tensor(1.5000)
    """

    _function_ = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self._store_(locals())


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)); target is 1 or -1.

    Example:
        >>> nn.SoftMarginLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(0.6931)
    """

    _function_ = staticmethod(F.soft_margin_loss)


class KLDivLoss(_Loss):
    """target * (log target - input): the input is a logarithm, with `log_target` the target too.

    Arguments:
        log_target: whether the target has logarithms, too

    Example:
        >>> nn.KLDivLoss(reduction="sum")(torch.tensor([0.5]).log(), torch.tensor([1.0]))
        tensor(0.6931)
    """

    _function_ = staticmethod(F.kl_div)

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 log_target: bool = False) -> None:
        self._store_(locals())


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts; the input is their mean, or with `log_input` its logarithm.

    Arguments:
        log_input: whether the input has logarithms

    Example:
        >>> nn.PoissonNLLLoss()(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor(1.)
    """

    log_input: bool
    full: bool
    eps: float

    _function_ = staticmethod(F.poisson_nll_loss)

    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        self._store_(locals())

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._apply_to_(log_input, target)


class GaussianNLLLoss(_Loss):
    """Negative log likelihood of normal numbers with mean `input` and variance `var`.

    Example:
        >>> nn.GaussianNLLLoss()(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([1.0]))
        tensor(0.5000)
    """

    full: bool
    eps: float

    _function_ = staticmethod(F.gaussian_nll_loss)

    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> None:
        self._store_(locals())

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return self._apply_to_(input, target, var)


class _PairLoss(_Loss):
    """Compares two inputs with a margin."""

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        self._store_(locals())

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._apply_to_(input1, input2, target)


class MarginRankingLoss(_PairLoss):
    """max(0, -target * (input1 - input2) + margin).

    Example:
        >>> nn.MarginRankingLoss()(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1.0]))
        tensor(1.)
    """

    margin: float

    _function_ = staticmethod(F.margin_ranking_loss)


class CosineEmbeddingLoss(_PairLoss):
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1.

    Example:
        >>> nn.CosineEmbeddingLoss()(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([1.0]))
        tensor(1.)
    """

    margin: float

    _function_ = staticmethod(F.cosine_embedding_loss)


class HingeEmbeddingLoss(_Loss):
    """input where target is 1, max(0, margin - input) where it is -1.

    Example:
        >>> nn.HingeEmbeddingLoss()(torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1.0]))
        tensor(0.6250)
    """

    margin: float

    _function_ = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        self._store_(locals())


class _TripletLoss(_Loss):
    """Compares the distances of an anchor to a positive and to a negative."""

    def _store_(self, given):
        margin, name = given["margin"], type(self).__name__
        if margin <= 0:
            raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")
        super()._store_(given)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._apply_to_(anchor, positive, negative)


class TripletMarginLoss(_TripletLoss):
    """max(0, distance to the positive - distance to the negative + margin).

    Arguments:
        p: the exponent of the norm

    Example:
        >>> nn.TripletMarginLoss()(torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[3.0]]))
        tensor(0.)
    """

    margin: float
    p: float
    eps: float
    swap: bool

    _function_ = staticmethod(F.triplet_margin_loss)

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False,
                 size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        self._store_(locals())


class TripletMarginWithDistanceLoss(_TripletLoss):
    """TripletMarginLoss with any distance.

    Arguments:
        distance_function: a function of two tensors; None means PairwiseDistance

    Example:
        >>> nn.TripletMarginWithDistanceLoss()(torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[3.0]]))
        tensor(0.)
    """

    margin: float
    swap: bool

    _function_ = staticmethod(F.triplet_margin_with_distance_loss)

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                 swap: bool = False, reduction: str = "mean") -> None:
        distance_function = PairwiseDistance() if distance_function is None else distance_function
        self._store_(locals())


# --- classes ---------------------------------------------------------------------------------------------------------

class BCELoss(_WeightedLoss):
    """-log of the probability given to the truth, for each element.

    Example:
        >>> nn.BCELoss()(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
        tensor(0.3993)
    """

    _function_ = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_WeightedLoss):
    """BCELoss of sigmoid(input).

    Arguments:
        pos_weight: the weight of positive examples

    Example:
        >>> nn.BCEWithLogitsLoss()(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
        tensor(0.4100)
    """

    pos_weight: Tensor | None

    _function_ = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        self._store_(locals())


class NLLLoss(_WeightedLoss):
    """-input at the target's class.

    Example:
        >>> nn.NLLLoss()(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([1]))
        tensor(0.6931)
    """

    ignore_index: int

    _function_ = staticmethod(F.nll_loss)

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        self._store_(locals())


class NLLLoss2d(NLLLoss):
    """NLLLoss, under the name that it had for images.

    Example:
        >>> loss = nn.NLLLoss2d()
        >>> loss(torch.zeros(1, 2, 1, 1), torch.zeros(1, 1, 1, dtype=torch.long))
        tensor(0.)
    """


class CrossEntropyLoss(_WeightedLoss):
    """NLLLoss of log_softmax(input); targets are classes or probabilities.

    Arguments:
        label_smoothing: the share of the target that is spread over all classes

    Example:
        >>> nn.CrossEntropyLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
        tensor(0.6931)
    """

    ignore_index: int
    label_smoothing: float

    _function_ = staticmethod(F.cross_entropy)

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        self._store_(locals())


class MultiMarginLoss(_WeightedLoss):
    """max(0, margin - input at the target + input) to the power `p`, over the other classes.

    Arguments:
        p: the exponent, 1 or 2

    Example:
        >>> nn.MultiMarginLoss()(torch.tensor([[0.5, 1.0]]), torch.tensor([1]))
        tensor(0.2500)
    """

    margin: float
    p: int

    _function_ = staticmethod(F.multi_margin_loss)

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self._store_(locals())


class MultiLabelMarginLoss(_Loss):
    """max(0, 1 - input at a target + input elsewhere), over all targets of a sample.

    Example:
        >>> nn.MultiLabelMarginLoss()(torch.tensor([[0.5, 1.0]]), torch.tensor([[1, -1]]))
        tensor(0.2500)
    """

    _function_ = staticmethod(F.multilabel_margin_loss)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over the classes of BCEWithLogitsLoss.

    Example:
        >>> nn.MultiLabelSoftMarginLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """

    _function_ = staticmethod(F.multilabel_soft_margin_loss)


class LinearCrossEntropyLoss(_WeightedLoss):
    """CrossEntropyLoss of a linear map of the input, (N, in_features) or (in_features), to
    (num_classes, *out_features).

    Arguments:
        num_classes: the number of classes
        out_features: further dimensions of the result of the map
        weight: one weight for each class
        label_smoothing: the share of the target that is spread over all classes
        options: a LinearCrossEntropyOptions, or None

    Example:
        >>> loss = nn.LinearCrossEntropyLoss(3, 2)
        >>> loss(torch.ones(4, 3), torch.tensor([0, 1, 1, 0])).shape
        torch.Size([])
    """

    num_classes: int
    out_features: tuple[int, ...]
    reduction: str
    ignore_index: int | None
    label_smoothing: float
    options: LinearCrossEntropyOptions | None

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 device: Device = None, dtype: dtype | None = None, reduction: str = "mean",
                 weight: Tensor | None = None, ignore_index: int | None = None, label_smoothing: float = 0.0,
                 options: LinearCrossEntropyOptions | None = None) -> None:
        self._store_({"reduction": reduction, "weight": weight})
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = self.num_classes, *self.out_features
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self) -> str:
        return (f"in_features={self.linear.in_features}, {described(self, 'num_classes', 'out_features')}, "
                f"bias={self.linear.bias is not None}, "
                f"{described(self, 'reduction', 'ignore_index', 'label_smoothing', 'options')}")


class CTCLoss(_Loss):
    """-log of the probability of a sequence of labels over all its alignments.

    Arguments:
        blank: the class that stands for nothing
        zero_infinity: whether an infinite loss, and its gradient, become 0

    Example:
        >>> nn.CTCLoss()(torch.zeros(2, 1, 2).log_softmax(2), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
        tensor(0.2877)
    """

    blank: int
    zero_infinity: bool

    _function_ = staticmethod(F.ctc_loss)

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        self._store_(locals())

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return self._apply_to_(log_probs, targets, input_lengths, target_lengths)
