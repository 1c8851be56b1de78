"""Losses: derivatives for which ACLNN has no operator, and second derivatives.

A mixed derivative is the second derivative by the input and the target.
"""
from mindtorch._ops.operators import ops


def share(grad, reduction):
    """`grad`, divided by the number of its elements where the reduction is a mean."""
    return grad / max(grad.numel(), 1) if reduction == 1 else grad


def reduced(losses, reduction):
    """The losses as `reduction` says: all (0), their mean (1) or their sum (2); an empty tensor gives 0."""
    return share(losses, reduction).sum() if reduction else losses


def _gradient_of_each(grad, losses, reduction):
    """The gradient of each loss, from that of the result."""
    return grad / max(losses.numel(), 1) if reduction == 1 else grad


def _weighted(values, weight):
    return values if weight is None else values * weight


def l1_loss_derivative(grad, self, target, reduction):
    """The sign of the difference; of complex numbers the direction."""
    if self.is_complex() or target.is_complex():
        difference = self - target
        return _gradient_of_each(grad, difference, reduction) * difference.sgn()
    return ops.l1_loss_backward(grad, self, target, reduction)


def smooth_l1_second_derivative(grad, difference, beta):
    """1 / beta below beta."""
    return ops.where(difference.abs() < beta, grad / beta, ops.zeros_like(grad)) if beta else ops.zeros_like(grad)


def soft_margin_second_derivative(self, target):
    """target^2 s (1 - s), of s = sigmoid(self * target)."""
    s = (self * target).sigmoid()
    return target * target * s * (1 - s)


def binary_cross_entropy_target_backward(grad, self, target, weight, reduction):
    """log(1 - x) - log(x)."""
    return _gradient_of_each(grad, target, reduction) * _weighted((1 - self).log() - self.log(), weight)


def binary_cross_entropy_second_derivative(grad, self, target, weight):
    """(x^2 - 2 x t + t) / (x (1 - x))^2."""
    spread = ((1 - self) * self).clamp(min=1e-12)
    return grad * _weighted((self * self - 2 * self * target + target) / (spread * spread), weight)


def binary_cross_entropy_mixed_derivative(grad, self, weight):
    """1 / (x (1 - x)), with the other sign."""
    return _weighted(grad / ((1 - self) * self).clamp(min=1e-12), weight)


def binary_cross_entropy_with_logits_target_backward(grad, self, target, weight, pos_weight, reduction):
    """-x, and for weights of the positive ones (1 - pos_weight) log(sigmoid(x)) more."""
    slope = -self if pos_weight is None else (1 - pos_weight) * ops.log_sigmoid(self) - self
    return _gradient_of_each(grad, target, reduction) * _weighted(slope, weight)


def logits_second_derivative(self, target, weight, pos_weight):
    """s (1 - s) times the weight of the target, of s = sigmoid(x)."""
    s = self.sigmoid()
    curvature = s * (1 - s)
    return _weighted(curvature if pos_weight is None else curvature * ((pos_weight - 1) * target + 1), weight)


def logits_mixed_derivative(self, weight, pos_weight):
    """-1, and for weights of the positive ones (1 - pos_weight) sigmoid(-x) more."""
    slant = -ops.ones_like(self) if pos_weight is None else (1 - pos_weight) * (-self).sigmoid() - 1
    return _weighted(slant, weight)


def multilabel_margin_tangent(grad, self, target, reduction, is_target):
    """By grad_output, of multilabel_margin_loss_backward."""
    ones = self.new_ones(self.shape[:-1])
    losses = grad * ops.multilabel_margin_loss_backward(ones, self, target, 0, is_target)
    return reduced(losses.sum(-1) if self.dim() else losses, reduction)


def kl_div_target_backward(grad, self, target, reduction, log_target):
    """log(t) + 1 - x, NaN unless t > 0, or exp(t) (t + 1 - x) of logarithms t. ACLNN has it from CANN 9.0 on only."""
    if log_target:
        slope = target.exp() * (target + 1 - self)
    else:
        slope = ops.where(target > 0, target, float("nan")).log() + 1 - self
    return _gradient_of_each(grad, slope, reduction) * slope
