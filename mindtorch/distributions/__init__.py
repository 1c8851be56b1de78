"""torch.distributions: probability distributions, their densities, samples, and divergences from one another."""
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributions import _cross_kl, constraints, transforms  # noqa: F401 - _cross_kl registers its pairs
from mindtorch.distributions.bernoulli import Bernoulli
from mindtorch.distributions.beta import Beta
from mindtorch.distributions.binomial import Binomial
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.cauchy import Cauchy
from mindtorch.distributions.chi2 import Chi2
from mindtorch.distributions.constraint_registry import biject_to, transform_to
from mindtorch.distributions.continuous_bernoulli import ContinuousBernoulli
from mindtorch.distributions.dirichlet import Dirichlet
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.exp_family import ExponentialFamily
from mindtorch.distributions.exponential import Exponential
from mindtorch.distributions.fishersnedecor import FisherSnedecor
from mindtorch.distributions.gamma import Gamma
from mindtorch.distributions.generalized_pareto import GeneralizedPareto
from mindtorch.distributions.geometric import Geometric
from mindtorch.distributions.gumbel import Gumbel
from mindtorch.distributions.half_cauchy import HalfCauchy
from mindtorch.distributions.half_normal import HalfNormal
from mindtorch.distributions.independent import Independent
from mindtorch.distributions.inverse_gamma import InverseGamma
from mindtorch.distributions.kl import kl_divergence, register_kl
from mindtorch.distributions.kumaraswamy import Kumaraswamy
from mindtorch.distributions.laplace import Laplace
from mindtorch.distributions.lkj_cholesky import LKJCholesky
from mindtorch.distributions.log_normal import LogNormal
from mindtorch.distributions.logistic_normal import LogisticNormal
from mindtorch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from mindtorch.distributions.mixture_same_family import MixtureSameFamily
from mindtorch.distributions.multinomial import Multinomial
from mindtorch.distributions.multivariate_normal import MultivariateNormal
from mindtorch.distributions.negative_binomial import NegativeBinomial
from mindtorch.distributions.normal import Normal
from mindtorch.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from mindtorch.distributions.pareto import Pareto
from mindtorch.distributions.poisson import Poisson
from mindtorch.distributions.relaxed_bernoulli import RelaxedBernoulli
from mindtorch.distributions.relaxed_categorical import RelaxedOneHotCategorical
from mindtorch.distributions.studentT import StudentT
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import *  # noqa: F403 - all that its __all__ lists, as below
from mindtorch.distributions.uniform import Uniform
from mindtorch.distributions.von_mises import VonMises
from mindtorch.distributions.weibull import Weibull
from mindtorch.distributions.wishart import Wishart

# ruff does not follow transforms.__all__ to see that it holds str.
__all__ = ["Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli",  # noqa: PLE0604
           "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
           "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma",
           "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal",
           "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
           "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical",
           "StudentT", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
           "constraints", "kl_divergence", "register_kl", "transform_to", *transforms.__all__]

_complete_docstrings(globals(), "distributions")
