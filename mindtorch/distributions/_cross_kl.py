"""Divergences of distributions of different classes: -H(p) - E_p[log q(x)], where that expectation is known."""
import math

import mindtorch
from mindtorch.distributions.bernoulli import Bernoulli
from mindtorch.distributions.beta import Beta
from mindtorch.distributions.binomial import Binomial
from mindtorch.distributions.continuous_bernoulli import ContinuousBernoulli
from mindtorch.distributions.exponential import Exponential
from mindtorch.distributions.gamma import Gamma
from mindtorch.distributions.gumbel import Gumbel
from mindtorch.distributions.kl import register_kl
from mindtorch.distributions.laplace import Laplace
from mindtorch.distributions.normal import Normal
from mindtorch.distributions.pareto import Pareto
from mindtorch.distributions.poisson import Poisson
from mindtorch.distributions.uniform import Uniform
from mindtorch.distributions.utils import EULER


def _x_log_x(x):
    return mindtorch.special.xlogy(x, x)


def _mean_of_log(p):
    """E_p[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - p.total_concentration.digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -EULER - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1      # Uniform


def _mean_of_exp(p, q):
    """E_p[exp(-(x - q.loc) / q.scale)]."""
    if isinstance(p, Exponential):
        return (q.loc / q.scale).exp() * p.rate / (p.rate + q.scale.reciprocal())
    if isinstance(p, Gamma):
        return (q.loc / q.scale).exp() * (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return ((p.scale / q.scale).square() / 2 - (p.loc - q.loc) / q.scale).exp()
    ends = [((q.loc - end) / q.scale).exp() for end in (p.low, p.high)]     # Uniform
    return q.scale / (p.high - p.low) * (ends[0] - ends[1])


def _inf_outside(p, found, low, high=math.inf):
    """`found`, but inf where p, a Uniform, reaches out of what q can take."""
    if not isinstance(p, Uniform):
        return found
    return mindtorch.where((p.low < low) | (p.high > high), math.inf, found)


def _register(*kinds):
    """A decorator for a function of p and q that computes E_p[-log q(x)], of q's class and p's classes before it."""
    *kinds_of_p, kind_of_q = kinds

    def decorator(cross_entropy):
        for kind in kinds_of_p:
            register_kl(kind, kind_of_q)(lambda p, q: cross_entropy(p, q) - p.entropy())
        return cross_entropy
    return decorator


@_register(Bernoulli, Poisson)
def _poisson(p, q):
    return q.rate - p.probs * q.rate.log()


@_register(Beta, ContinuousBernoulli, Gamma, Pareto, Uniform, Exponential)
def _exponential(p, q):
    found = q.rate * p.mean - q.rate.log()
    return _inf_outside(p, found, 0)


@_register(Beta, Exponential, Pareto, Uniform, Gamma)
def _gamma(p, q):
    found = (q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * _mean_of_log(p)
             + q.rate * p.mean)
    return _inf_outside(p, found, 0)


@_register(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Normal)
def _normal(p, q):
    distance = p.variance + (p.mean - q.loc).square()
    return 0.5 * (math.log(2 * math.pi) + distance / q.scale.square()) + q.scale.log()


@_register(Exponential, Gamma, Normal, Uniform, Gumbel)
def _gumbel(p, q):
    return q.scale.log() + (p.mean - q.loc) / q.scale + _mean_of_exp(p, q)


@_register(Normal, Laplace)
def _laplace(p, q):
    away = p.loc - q.loc
    distance = (math.sqrt(2 / math.pi) * p.scale * (-0.5 * (away / p.scale).square()).exp()
                + away * mindtorch.erf(away / (math.sqrt(2) * p.scale)))
    return (2 * q.scale).log() + distance / q.scale


@_register(Uniform, Beta)
def _beta(p, q):
    log_not = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1       # E_p[log(1 - x)]
    found = q._log_norm_() - (q.concentration1 - 1) * _mean_of_log(p) - (q.concentration0 - 1) * log_not
    return _inf_outside(p, found, 0, 1)


@_register(Beta, Uniform, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    found = -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return _inf_outside(p, found, 0, 1)


@_register(Uniform, Pareto)
def _pareto(p, q):
    found = (q.alpha + 1) * _mean_of_log(p) - q.alpha.log() - q.alpha * q.scale.log()
    return _inf_outside(p, found, q.scale)


@_register(Beta, ContinuousBernoulli, Uniform)
def _uniform(p, q):
    return mindtorch.where((q.low > 0) | (q.high < 1), math.inf, (q.high - q.low).log())


def _endless(p, q):
    """p has values that q cannot take."""
    like = p.mean
    return mindtorch.full(p.batch_shape, math.inf, dtype=like.dtype, device=like.device)


for _kind_of_q, _kinds_of_p in (
        (Beta, (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)),
        (ContinuousBernoulli, (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)),
        (Uniform, (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)),
        (Exponential, (Gumbel, Laplace, Normal)), (Gamma, (Gumbel, Laplace, Normal)),
        (Pareto, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal)),
        (Bernoulli, (Poisson,)), (Binomial, (Poisson,))):
    for _kind_of_p in _kinds_of_p:
        register_kl(_kind_of_p, _kind_of_q)(_endless)
