"""kl_divergence: how far one distribution is from another, and the table of pairs for which that is known."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions.bernoulli import Bernoulli
from mindtorch.distributions.beta import Beta
from mindtorch.distributions.binomial import Binomial
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.cauchy import Cauchy
from mindtorch.distributions.continuous_bernoulli import ContinuousBernoulli
from mindtorch.distributions.dirichlet import Dirichlet
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.exp_family import ExponentialFamily
from mindtorch.distributions.exponential import Exponential
from mindtorch.distributions.gamma import Gamma
from mindtorch.distributions.geometric import Geometric
from mindtorch.distributions.gumbel import Gumbel
from mindtorch.distributions.half_normal import HalfNormal
from mindtorch.distributions.independent import Independent
from mindtorch.distributions.laplace import Laplace
from mindtorch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from mindtorch.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from mindtorch.distributions.normal import Normal
from mindtorch.distributions.one_hot_categorical import OneHotCategorical
from mindtorch.distributions.pareto import Pareto
from mindtorch.distributions.poisson import Poisson
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.uniform import Uniform
from mindtorch.distributions.utils import EULER, sum_rightmost
from mindtorch.distributions.wishart import Wishart

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY = {}


def register_kl(type_p: Any, type_q: Any) -> Any:
    """A decorator: the function computes the divergence of those two classes, and of what is derived from them.

    Arguments:
        type_p: the class of the first distribution
        type_q: the class of the second distribution

    Example:
        >>> class Point(torch.distributions.Distribution):
        ...     arg_constraints = {}
        >>> @torch.distributions.register_kl(Point, Point)
        ... def between_points(p, q):
        ...     return torch.tensor(0.0)
        >>> torch.distributions.kl_divergence(Point(), Point())
        tensor(0.)
    """
    for kind in (type_p, type_q):
        issubclass(kind, Distribution)          # a TypeError for what is no class; any class will do

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        return function
    return decorator


def _function_for(type_p, type_q):
    """The function of the classes that are nearest: first by the distance of the one, then of the other."""
    found = [(type_p.__mro__.index(p), type_q.__mro__.index(q), function) for (p, q), function in _KL_REGISTRY.items()
             if issubclass(type_p, p) and issubclass(type_q, q)]
    return min(found, key=lambda each: each[:2])[2] if found else None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of `q` from `p`, E_p[log p(x) - log q(x)], in the batch shape of the two.

    Arguments:
        p: the first distribution
        q: the second distribution

    Example:
        >>> Normal = torch.distributions.Normal
        >>> torch.distributions.kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    function = _function_for(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}")
    return function(p, q)


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = mindtorch.where((q.probs == 0).expand_as(terms), math.inf, terms)
    return mindtorch.where((p.probs == 0).expand_as(terms), 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    log_not_p, log_not_q = (mindtorch.nn.functional.logsigmoid(-d.logits) for d in (p, q))
    log_p, log_q = (mindtorch.nn.functional.logsigmoid(d.logits) for d in (p, q))
    found = p.probs * (log_p - log_q) + (1 - p.probs) * (log_not_p - log_not_q)
    impossible = ((q.probs == 0) & (p.probs > 0)) | ((q.probs == 1) & (p.probs < 1))
    return mindtorch.where(impossible, math.inf, found)


@register_kl(Beta, Beta)
def _beta(p, q):
    return (q._log_norm_() - p._log_norm_()
            + (p.concentration1 - q.concentration1) * mindtorch.digamma(p.concentration1)
            + (p.concentration0 - q.concentration0) * mindtorch.digamma(p.concentration0)
            + (q.total_concentration - p.total_concentration) * mindtorch.digamma(p.total_concentration))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    digammas = p.concentration.digamma() - p.concentration.sum(-1).digamma().unsqueeze(-1)
    return q._log_norm_() - p._log_norm_() + ((p.concentration - q.concentration) * digammas).sum(-1)


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + mindtorch.lgamma(b) - mindtorch.lgamma(a)
            + (a - b) * mindtorch.digamma(a) + (q.rate - p.rate) * (a / p.rate))


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    away, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - mindtorch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * one).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, at_p, at_q = p.scale / q.scale, p.loc / q.scale, q.loc / q.scale
    return (at_p - ratio.log() - at_q + ratio * EULER + mindtorch.exp(at_q + (1 + ratio).lgamma() - at_p)
            - (1 + EULER))


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return mindtorch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    width = p.high - p.low
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2) + width.pow(2) / 12
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + distance / (2 * q.scale.pow(2))


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be "
                         "computed")
    factor, n = q._unbroadcasted_scale_tril, p.event_shape[0]
    batch = mindtorch.broadcast_shapes(p.batch_shape, q.batch_shape)
    between = mindtorch.linalg.solve_triangular(factor, p._unbroadcasted_scale_tril.expand((*batch, n, n)), upper=False)
    trace = between.pow(2).sum((-2, -1))
    return q._half_log_det_() - p._half_log_det_() + 0.5 * (trace + _batch_mahalanobis(factor, q.loc - p.loc) - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    return _multivariate_normal(*(
        MultivariateNormal(d.loc, scale_tril=d.scale_tril, validate_args=False) if type(d) is not MultivariateNormal
        else d for d in (p, q)))


@register_kl(Wishart, Wishart)
def _wishart(p, q):
    size, df = p.event_shape[-1], p.df
    ratio = mindtorch.linalg.solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    steps = mindtorch.arange(size, dtype=df.dtype, device=df.device)
    digammas = mindtorch.digamma((df.unsqueeze(-1) - steps) / 2).sum(-1)
    return (q.df * (q._half_log_det_() - p._half_log_det_()) + df / 2 * (ratio.pow(2).sum((-2, -1)) - size)
            + mindtorch.mvlgamma(q.df / 2, size) - mindtorch.mvlgamma(df / 2, size) + (df - q.df) / 2 * digammas)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The Bregman divergence of the log normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed "
                                  "using Bregman divergences")
    params, normalizer, gradients = p._natural_gradients_()
    other = q._natural_params
    found = q._log_normalizer(*other) - normalizer
    for one, another, gradient in zip(params, other, gradients, strict=True):
        term = (another - one) * gradient
        found = found - sum_rightmost(term, len(q.event_shape))
    return found


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    return p.mean * (p.logits - q.logits) + (p._cont_bern_log_norm() + (-p.probs).log1p()
                                             - q._cont_bern_log_norm() - (-q.probs).log1p())
