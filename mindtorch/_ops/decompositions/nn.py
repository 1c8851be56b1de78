"""Losses and activations, mostly of float64."""
from math import nan, pi, sqrt

from mindtorch._ops.operators import ops

# --- losses ----------------------------------------------------------------------------------------------------------

def _labels(self, target):
    """Samples and their targets as rows, and which targets are labels: those before the first negative one."""
    rows, target = (x.reshape(-1, self.shape[-1] if self.ndim else 1) for x in (self, target))
    return rows, target, (target.cummin(1)[0] >= 0).to(rows.dtype)


def multilabel_margin(self, target, reduction):
    """max(0, 1 - label + class) over all pairs of a label and another class; and which classes are labels."""
    rows, target, is_label = _labels(self, target)
    label = target.clamp(min=0)
    is_target = ops.zeros_like(rows).scatter_add(1, label, is_label).clamp(max=1)
    distance = 1 - rows.gather(1, label).unsqueeze(2) + rows.unsqueeze(1)
    counts = (is_label.unsqueeze(2) * (1 - is_target).unsqueeze(1) != 0) & (distance > 0)
    losses = ops.where(counts, distance, ops.zeros_like(distance)).sum((1, 2)) / rows.shape[1]
    return reduce_loss(losses if self.ndim == 2 else losses.reshape(()), reduction), is_target.reshape(self.shape)


def multilabel_margin_backward(grad_output, self, target, reduction, is_target):
    """Each pair of a label and another class within the margin adds -1 for the label and 1 for the class."""
    rows, target, is_label = _labels(self, target)
    is_target = is_target.reshape(rows.shape)
    scale = 1 / (rows.numel() if reduction == 1 else rows.shape[1])
    weight = is_label * (grad_output.unsqueeze(-1) if grad_output.ndim else grad_output) * scale
    label = target.clamp(min=0)
    own = rows.gather(1, label)
    pairs = (rows.unsqueeze(1) > own.unsqueeze(2) - 1) * weight.unsqueeze(2) * (1 - is_target).unsqueeze(1)
    return pairs.sum(1).scatter_add(1, label, -pairs.sum(2)).reshape(self.shape)


def soft_margin(product):
    """log(1 + exp(-product)); softplus, which does not overflow, takes no complex numbers."""
    return ops.log1p(ops.exp(-product)) if product.is_complex() else ops.softplus(-product)


def reduce_loss(losses, reduction):
    """The losses as `reduction` says: all (0), their mean (1) or their sum (2)."""
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


def l1_loss_by_abs(self, target, reduction):
    """The loss of integers, whose differences wrap around as torch's do."""
    return reduce_loss((self - target).abs(), reduction)


def smooth_l1(difference, beta):
    distance = difference.abs()
    return ops.where(distance < beta, distance * distance / 2 / beta, distance - beta / 2)


def smooth_l1_slope(difference, beta):
    return ops.where(difference.abs() < beta, difference / beta, ops.sign(difference))


def weighted(values, weight):
    return values if weight is None else values * weight


def cross_entropy_of_probabilities(self, target, weight):
    """A logarithm counts as no less than -100."""
    losses = (target - 1) * (-self).log1p().clamp(min=-100) - target * self.log().clamp(min=-100)
    return weighted(losses, weight)


def _positive_weight(target, pos_weight):
    return 1 if pos_weight is None else (pos_weight - 1) * target + 1


def cross_entropy_of_logits(self, target, weight, pos_weight):
    scores = ops.real(self)         # they come in the dtype of the target, which may be complex
    miss = (-scores).clamp(min=0) + (-scores.abs()).exp().log1p()         # -log(sigmoid(self))
    return weighted((1 - target) * self + _positive_weight(target, pos_weight) * miss, weight)


def cross_entropy_slope(self, target, weight, pos_weight):
    """The derivative of `cross_entropy_of_logits` by self."""
    return weighted(1 - target - _positive_weight(target, pos_weight) * ops.sigmoid(-self), weight)


def divergence(self, target, log_target):
    return target.exp() * (target - self) if log_target else ops.xlogy(target, target) - target * self


def _sample_weights(self, target, weight, ignored):
    """The dimension of classes, the class of each sample (0 for what is ignored) and its weight."""
    dim = 1 if self.ndim > 1 else 0
    target = target.long().reshape(self.shape[:dim] + self.shape[dim + 1:])
    kept = target != ignored
    classes = ops.where(kept, target, 0)
    weights = kept.to(self.dtype)
    if weight is not None:
        weights = weights * weight.to(self.dtype).index_select(0, classes.reshape(-1)).reshape(classes.shape)
    return dim, classes.unsqueeze(dim), weights


def nll_loss_by_gather(self, target, weight, reduction, ignored):
    """The loss, and the sum of the weights: 0 where there is no reduction of a batch."""
    dim, classes, weights = _sample_weights(self, target, weight, ignored)
    losses = ops.where(weights == 0, 0, -self.gather(dim, classes).squeeze(dim) * weights)
    total = weights.sum()
    if reduction == 0:
        return losses, total if self.ndim == 1 else ops.zeros_like(total)
    return losses.sum() / total if reduction == 1 else losses.sum(), total


def nll_loss_backward_by_scatter(grad_output, self, target, weight, reduction, ignored, total_weight):
    dim, classes, weights = _sample_weights(self, target, weight, ignored)
    slopes = -weights * grad_output.reshape(weights.shape if reduction == 0 else ())
    slopes = slopes / total_weight if reduction == 1 else slopes
    return ops.zeros_like(self).scatter(dim, classes, slopes.unsqueeze(dim))


# --- activations -----------------------------------------------------------------------------------------------------

def _inner(self):
    """The argument of tanh in the approximation of GELU."""
    return (self + self * self * self * 0.044715) * sqrt(2 / pi)


def gelu_by_erf(self, approximate):
    return self * (_inner(self).tanh() if approximate == "tanh" else (self * sqrt(0.5)).erf()) / 2 + self / 2


def gelu_slope(self, approximate):
    """The derivative of GELU."""
    if approximate == "tanh":
        tanh = _inner(self).tanh()
        return (1 + tanh + self * (1 - tanh * tanh) * (1 + self * self * 0.134145) * sqrt(2 / pi)) / 2
    return ((self * sqrt(0.5)).erf() + 1) / 2 + self * (self * self / -2).exp() / sqrt(2 * pi)


def elu_slope(self_or_result, alpha, scale, input_scale, is_result):
    """The derivative of ELU, from its operand or from its result."""
    below = self_or_result + alpha * scale if is_result else (self_or_result * input_scale).exp() * (alpha * scale)
    return ops.where(self_or_result <= 0, below * input_scale, scale)


def logit_by_log(self, eps):
    self = self if eps is None else self.clamp(eps, 1 - eps)
    return (self / (1 - self)).log()


def logit_slope(self, eps):
    """The derivative of logit; outside of eps to 1 - eps it is 0, and NaN outside of 0 to 1 without an eps."""
    low, outside = (0, nan) if eps is None or eps < 0 else (eps, 0.0)
    return ops.where((self >= low) & (self <= 1 - low), 1 / (self.abs() * (1 - self)), outside)


# --- quantization ----------------------------------------------------------------------------------------------------

def fake_quantize(self, scale, zero_point, axis, quant_min, quant_max):
    channels = [1] * self.ndim
    channels[axis] = -1
    scale, zero_point = scale.reshape(channels), zero_point.reshape(channels)
    steps = self * scale.reciprocal()
    quantized = (steps + zero_point).round() if zero_point.is_floating_point() else steps.round() + zero_point
    mask = (quantized >= quant_min) & (quantized <= quant_max)
    return ((quantized.clamp(quant_min, quant_max) - zero_point) * scale).to(self.dtype), mask
