"""torch.distributions: probability distributions, their densities, samples, and divergences from one another."""
from mindtorch.distributions import constraints, transforms
from mindtorch.distributions.bernoulli import Bernoulli
from mindtorch.distributions.beta import Beta
from mindtorch.distributions.binomial import Binomial
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.cauchy import Cauchy
from mindtorch.distributions.chi2 import Chi2
from mindtorch.distributions.dirichlet import Dirichlet
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.exponential import Exponential
from mindtorch.distributions.gamma import Gamma
from mindtorch.distributions.geometric import Geometric
from mindtorch.distributions.half_normal import HalfNormal
from mindtorch.distributions.independent import Independent
from mindtorch.distributions.kl import kl_divergence, register_kl
from mindtorch.distributions.laplace import Laplace
from mindtorch.distributions.log_normal import LogNormal
from mindtorch.distributions.mixture_same_family import MixtureSameFamily
from mindtorch.distributions.multivariate_normal import MultivariateNormal
from mindtorch.distributions.normal import Normal
from mindtorch.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from mindtorch.distributions.poisson import Poisson
from mindtorch.distributions.studentT import StudentT
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import *  # noqa: F403 - all that its __all__ lists, as below
from mindtorch.distributions.uniform import Uniform

# ruff does not follow transforms.__all__ to see that it holds str.
__all__ = ["Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet",  # noqa: PLE0604
           "Distribution", "Exponential", "Gamma", "Geometric", "HalfNormal", "Independent", "Laplace", "LogNormal",
           "MixtureSameFamily", "MultivariateNormal", "Normal", "OneHotCategorical",
           "OneHotCategoricalStraightThrough", "Poisson", "StudentT", "TransformedDistribution", "Uniform",
           "constraints", "kl_divergence", "register_kl", *transforms.__all__]
