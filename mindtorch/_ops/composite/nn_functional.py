"""Functions such as torch.dropout and torch.kl_div.

They compute the same as those of torch.nn.functional, but take all arguments by position and the reduction as a number:
0 none, 1 mean, 2 sum.
"""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.python.torch_function import publish as _publish
from mindtorch.nn import _functional_loss as _loss
from mindtorch.nn import _functional_norm as _norm
from mindtorch.nn._functional_conv import conv_tbc
from mindtorch.nn._functional_norm import cosine_similarity, pairwise_distance

__all__ = [
    "alpha_dropout", "alpha_dropout_", "binary_cross_entropy_with_logits", "conv_tbc", "cosine_embedding_loss",
    "cosine_similarity", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout",
    "feature_dropout_", "hinge_embedding_loss", "instance_norm", "kl_div", "margin_ranking_loss", "pairwise_distance",
    "poisson_nll_loss", "triplet_margin_loss"]

_REDUCTIONS = ("none", "mean", "sum")


def _reduction_name(number):
    """The name of a reduction; "none" for unknown numbers."""
    return _REDUCTIONS[_reduction_number(number)]


def _reduction_number(number):
    return number if number in (1, 2) else 0


# --- normalisation ---------------------------------------------------------------------------------------------------

def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Mean 0 and variance 1 for each channel of each sample."""
    return _norm.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


# --- dropout ---------------------------------------------------------------------------------------------------------

def _dropout_pair(function, whole_channels):
    """dropout(input, p, train) and dropout_(input, p, train) from nn.functional's function."""
    def checked(input, p, train, inplace):
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        if whole_channels and train and p and input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        return function(input, p, train, inplace)

    def plain(input, p, train):
        return checked(input, p, train, False)

    def in_place(input, p, train):
        return checked(input, p, train, True)
    plain.__doc__, in_place.__doc__ = function.__doc__, f"In place: {function.__doc__}"
    return plain, in_place


dropout, dropout_ = _dropout_pair(_norm.dropout, False)
feature_dropout, feature_dropout_ = _dropout_pair(_norm.dropout2d, True)
alpha_dropout, alpha_dropout_ = _dropout_pair(_norm.alpha_dropout, False)
feature_alpha_dropout, feature_alpha_dropout_ = _dropout_pair(_norm.feature_alpha_dropout, True)


# --- losses ----------------------------------------------------------------------------------------------------------

def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """The cross entropy of sigmoid(input)."""
    return _ATEN["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, _reduction_number(reduction))


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return _loss.cosine_embedding_loss(input1, input2, target, margin, None, None, _reduction_name(reduction))


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    """`input` where the target is 1, max(0, margin - input) where it is -1."""
    return _loss.hinge_embedding_loss(input, target, margin, None, None, _reduction_name(reduction))


def kl_div(input, target, reduction=0, *, log_target=False):
    """target * (log(target) - input)."""
    return _ATEN["kl_div"](input, target, _reduction_number(reduction), log_target=log_target)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    """max(0, -target * (input1 - input2) + margin)."""
    return _loss.margin_ranking_loss(input1, input2, target, margin, None, None, _reduction_name(reduction))


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """exp(input) - target * input, or input - target * log(input + eps)."""
    return _loss.poisson_nll_loss(input, target, log_input, full, None, eps, None, _reduction_name(reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=0):
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""
    return _loss.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, None, None,
                                     _reduction_name(reduction))


_publish(globals(), module="torch")
