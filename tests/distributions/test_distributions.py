"""torch.distributions beside torch's: densities, moments, transforms, divergences; samples by their moments."""
import pickle

import numpy as np
import pytest
import torch

import mindtorch


def tensor(lib, values, device):
    return lib.tensor(values, device=device if lib is mindtorch else "cpu")


# name -> (the distribution, of the library's `distributions` and a maker of tensors; values that it can take)
DISTRIBUTIONS = {
    "normal": (lambda d, t: d.Normal(t([0.0, 1.0]), t([1.0, 2.5])), [[0.3, -1.0], [2.0, 0.0]]),
    "normal of numbers": (lambda d, t: d.Normal(0.5, 2), [0.3, -4.0]),
    "uniform": (lambda d, t: d.Uniform(t([0.0, -1.0]), t([1.0, 3.0])), [[0.25, 0.5], [0.0, 2.5]]),
    "categorical": (lambda d, t: d.Categorical(t([[1.0, 2.0, 5.0], [3.0, 0.0, 1.0]])), [[0.0, 2.0], [1.0, 0.0]]),
    "categorical by logits": (lambda d, t: d.Categorical(logits=t([[0.1, -2.0, 1.0]])), [[1.0], [2.0]]),
    "one hot": (lambda d, t: d.OneHotCategorical(t([[1.0, 3.0], [2.0, 2.0]])), [[0.0, 1.0], [1.0, 0.0]]),
    "straight through": (lambda d, t: d.OneHotCategoricalStraightThrough(t([1.0, 3.0])), [[0.0, 1.0], [1.0, 0.0]]),
    "bernoulli": (lambda d, t: d.Bernoulli(t([0.25, 0.9])), [[1.0, 0.0], [0.0, 1.0]]),
    "bernoulli by logits": (lambda d, t: d.Bernoulli(logits=t([0.3, -8.0])), [[1.0, 0.0], [0.0, 1.0]]),
    "continuous bernoulli": (lambda d, t: d.ContinuousBernoulli(t([0.25, 0.5])), [[0.1, 0.7], [0.3, 0.4]]),
    "continuous bernoulli by logits": (lambda d, t: d.ContinuousBernoulli(logits=t([3.0, -1e-3])), [[0.1, 0.7]]),
    "generalized pareto": (lambda d, t: d.GeneralizedPareto(t([0.5, -1.0, 0.0]), t([1.0, 2.0, 0.5]),
                                                            t([0.2, -0.5, 0.0])), [[0.7, 0.5, 2.0], [9.0, 2.5, 0.1]]),
    "generalized pareto with a heavy tail": (lambda d, t: d.GeneralizedPareto(0.0, 1.0, t([0.7, 1.5])), [[0.7, 3.0]]),
    "geometric": (lambda d, t: d.Geometric(t([0.25, 0.9])), [[1.0, 0.0], [4.0, 1.0]]),
    "binomial": (lambda d, t: d.Binomial(6, t([0.25, 0.9])), [[1.0, 0.0], [4.0, 6.0]]),
    "poisson": (lambda d, t: d.Poisson(t([0.5, 4.0])), [[0.0, 3.0], [2.0, 9.0]]),
    "gamma": (lambda d, t: d.Gamma(t([0.5, 3.0]), t([1.0, 2.0])), [[0.1, 1.0], [2.0, 0.5]]),
    "chi2": (lambda d, t: d.Chi2(t([1.0, 4.0])), [[0.1, 1.0], [2.0, 0.5]]),
    "beta": (lambda d, t: d.Beta(t([0.5, 3.0]), t([2.0, 2.0])), [[0.1, 0.7], [0.2, 0.5]]),
    "dirichlet": (lambda d, t: d.Dirichlet(t([[0.5, 3.0, 1.0], [2.0, 2.0, 5.0]])), [[0.2, 0.3, 0.5], [0.1, 0.7, 0.2]]),
    "exponential": (lambda d, t: d.Exponential(t([0.5, 3.0])), [[0.1, 0.7], [3.0, 0.0]]),
    "laplace": (lambda d, t: d.Laplace(t([0.5, 3.0]), t([1.0, 2.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "cauchy": (lambda d, t: d.Cauchy(t([0.5, 3.0]), t([1.0, 2.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "student": (lambda d, t: d.StudentT(t([1.5, 8.0]), t([1.0, 0.0]), 2.0), [[0.1, 0.7], [3.0, 4.0]]),
    "half normal": (lambda d, t: d.HalfNormal(t([0.5, 3.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "log normal": (lambda d, t: d.LogNormal(t([0.5, 0.0]), t([0.3, 0.6])), [[0.1, 0.7], [3.0, 4.0]]),
    "multivariate normal": (lambda d, t: d.MultivariateNormal(t([1.0, -1.0]), t([[2.0, 0.3], [0.3, 1.0]])),
                            [[0.1, 0.7], [3.0, 4.0]]),
    "by precision": (lambda d, t: d.MultivariateNormal(t([1.0, -1.0]), precision_matrix=t([[2.0, 0.3], [0.3, 1.0]])),
                     [[0.1, 0.7], [3.0, 4.0]]),
    "by factor": (lambda d, t: d.MultivariateNormal(t([[1.0, -1.0], [0.0, 0.0]]),
                                                    scale_tril=t([[2.0, 0.0], [0.3, 1.0]])), [[0.1, 0.7], [3.0, 4.0]]),
    "half Cauchy": (lambda d, t: d.HalfCauchy(t([0.5, 3.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "negative binomial": (lambda d, t: d.NegativeBinomial(t([3.0, 6.5]), t([0.25, 0.6])), [[1.0, 0.0], [4.0, 6.0]]),
    "negative binomial by logits": (lambda d, t: d.NegativeBinomial(2, logits=t([0.25, -0.6])), [[1., 0.], [4., 6.]]),
    "gumbel": (lambda d, t: d.Gumbel(t([0.5, 3.0]), t([1.0, 2.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "weibull": (lambda d, t: d.Weibull(t([0.5, 3.0]), t([1.5, 2.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "pareto": (lambda d, t: d.Pareto(t([0.5, 0.6]), t([3.5, 0.9])), [[0.6, 0.7], [3.0, 4.0]]),
    "kumaraswamy": (lambda d, t: d.Kumaraswamy(t([0.5, 3.0]), t([2.0, 1.5])), [[0.1, 0.7], [0.3, 0.4]]),
    "F": (lambda d, t: d.FisherSnedecor(t([1.5, 9.0]), t([12.0, 6.0])), [[0.1, 0.7], [3.0, 4.0]]),
    "inverse gamma": (lambda d, t: d.InverseGamma(t([2.5, 5.0]), t([2.0, 1.5])), [[0.1, 0.7], [3.0, 4.0]]),
    "logistic normal": (lambda d, t: d.LogisticNormal(t([0.5, -1.0]), t([1.0, 0.5])),
                        [[0.1, 0.7, 0.2], [0.3, 0.4, 0.3]]),
    "low rank": (lambda d, t: d.LowRankMultivariateNormal(t([1.0, -1.0, 0.0]), t([[2.0], [0.3], [-1.0]]),
                                                          t([0.5, 1.0, 2.0])), [[0.1, 0.7, 1.0], [3.0, 4.0, -1.0]]),
    "relaxed bernoulli": (lambda d, t: d.RelaxedBernoulli(t(0.7), t([0.25, 0.6])), [[0.1, 0.7], [0.3, 0.4]]),
    "relaxed one hot": (lambda d, t: d.RelaxedOneHotCategorical(t(0.7), t([[1.0, 3.0], [2.0, 2.0]])),
                        [[0.1, 0.9], [0.6, 0.4]]),
    "multinomial": (lambda d, t: d.Multinomial(5, t([[1.0, 3.0, 1.0], [2.0, 2.0, 0.5]])),
                    [[1.0, 3.0, 1.0], [5.0, 0.0, 0.0]]),
    "von Mises": (lambda d, t: d.VonMises(t([0.5, -1.0]), t([1.5, 0.3])), [[0.1, 0.7], [3.0, -3.0]]),
    "LKJ": (lambda d, t: d.LKJCholesky(3, t([0.7, 2.0])),
            [[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, 0.6, 0.64]]] * 2),
    "wishart": (lambda d, t: d.Wishart(t([4.0, 6.5]), t([[2.0, 0.3], [0.3, 1.0]])),
                [[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.5], [-0.5, 3.0]]]),
    "wishart by precision": (lambda d, t: d.Wishart(t(4.0), precision_matrix=t([[2.0, 0.3], [0.3, 1.0]])),
                             [[2.0, 0.3], [0.3, 1.0]]),
    "independent": (lambda d, t: d.Independent(d.Normal(t([0.0, 1.0]), t([1.0, 2.5])), 1), [[0.3, -1.0], [2.0, 0.0]]),
    "mixture": (lambda d, t: d.MixtureSameFamily(d.Categorical(t([0.3, 0.7])), d.Normal(t([0.0, 4.0]), t([1.0, 0.5]))),
                [0.3, 3.5]),
    "mixture of vectors": (lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([0.3, 0.7])), d.Independent(d.Normal(t([[0.0, 4.0], [1.0, 1.0]]), t([1.0, 0.5])), 1)),
        [[0.3, 3.5], [1.0, 1.0]]),
    "squashed": (lambda d, t: d.TransformedDistribution(
        d.Independent(d.Normal(t([0.1, -0.2]), t([0.5, 0.7])), 1), [d.TanhTransform(cache_size=1)]),
        [[0.1, 0.7], [-0.3, 0.4]]),
    "logistic": (lambda d, t: d.TransformedDistribution(d.Uniform(t([0.0]), t([1.0])), [
        d.SigmoidTransform().inv, d.AffineTransform(1.0, -2.0)]), [[0.5], [3.0]]),
    "widened": (lambda d, t: d.TransformedDistribution(d.Normal(t(0.0), 1.0), d.AffineTransform(t([1.0, 2.0]), 2.0)),
                [[0.5, 3.0]]),
}
ATTRIBUTES = ("mean", "variance", "stddev", "mode", "batch_shape", "event_shape", "has_rsample", "support", "probs",
              "logits", "covariance_matrix", "precision_matrix", "scale_tril")
METHODS = {"entropy": lambda made, value: made.entropy(), "log_prob": lambda made, value: made.log_prob(value),
           "cdf": lambda made, value: made.cdf(value), "icdf": lambda made, value: made.icdf(value.abs() / 9),
           "enumerate_support": lambda made, value: made.enumerate_support(),
           "perplexity": lambda made, value: made.perplexity(), "repr": lambda made, value: repr(made),
           "expanded": lambda made, value: made.expand((3, 1, *made.batch_shape)).log_prob(value)}
# samples without gradients, where torch's have them
DRAWN_ONLY = {"gamma", "chi2", "beta", "dirichlet", "student", "F", "inverse gamma", "wishart",
              "wishart by precision"}
# torch's say less, or more where something has been computed already
OWN_REPR = {"beta", "mixture", "mixture of vectors"}


def pair(name, device):
    """The distribution of both libraries, and the values, of torch's."""
    make, values = DISTRIBUTIONS[name]
    device = "cpu" if name.endswith("of numbers") else device
    return [(make(lib.distributions, lambda v, lib=lib: tensor(lib, v, device)), tensor(lib, values, device))
            for lib in (mindtorch, torch)]


def outcome(function):
    try:
        found = function()
    except NotImplementedError:
        return "not implemented"
    return found.detach().cpu().numpy() if hasattr(found, "numpy") else found


def agree(ours, theirs, tolerance=2e-5):
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    else:
        assert repr(ours) == repr(theirs)


def shown(value):
    """A constraint as its name: its bounds are tensors, whose device is printed."""
    return value if isinstance(value, (str, tuple, bool)) or hasattr(value, "shape") else repr(value).partition("(")[0]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_attributes(name, device):
    (ours, _), (theirs, _) = pair(name, device)
    for attribute in ATTRIBUTES:
        if (attribute == "has_rsample" and name in DRAWN_ONLY) or not hasattr(type(theirs), attribute):
            continue
        if attribute == "mode" and name == "kumaraswamy":       # torch's is always NaN
            continue
        agree(*(shown(outcome(lambda a=attribute, made=made: getattr(made, a))) for made in (ours, theirs)))


@pytest.mark.parametrize(("name", "method"), [(name, method) for name in DISTRIBUTIONS for method in METHODS
                                              if method != "repr" or name not in OWN_REPR])
def test_methods(name, method, device):
    agree(*(outcome(lambda made=made, value=value: METHODS[method](made, value))
            for made, value in pair(name, device)), tolerance=1e-4)


@pytest.mark.filterwarnings("ignore:Singular sample detected")       # torch's Wishart says so of its own
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples(name, device):
    """Ten thousand of them have the mean and the variance that the distribution says."""
    mindtorch.manual_seed(3)
    (ours, _), (theirs, _) = pair(name, device)
    drawn = ours.sample((10000,))
    assert drawn.shape == (10000, *theirs.batch_shape, *theirs.event_shape)
    assert drawn.dtype is mindtorch.float32 or name.startswith("categorical")
    assert drawn.device.type == ("cpu" if name.endswith("of numbers") else device)
    assert not drawn.requires_grad
    drawn, reference = drawn.cpu().double().numpy(), theirs.sample((20000,)).double().numpy()
    if name not in ("cauchy", "student", "logistic", "half Cauchy", "pareto", "F", "inverse gamma",
                    "generalized pareto with a heavy tail"):
        spread = reference.std(0)
        assert (abs(drawn.mean(0) - reference.mean(0)) <= 5 * spread / 80 + 1e-6).all()
    for share in (0.25, 0.5, 0.75):             # of the values, as far as there are gaps between them
        below = [(each <= np.quantile(reference, share, axis=0)).mean(0) for each in (drawn, reference)]
        assert (abs(below[0] - below[1]) < 0.03).all()


@pytest.mark.parametrize("name", ["normal", "uniform", "categorical", "bernoulli", "exponential", "laplace", "poisson",
                                  "multivariate normal", "mixture", "squashed", "half normal", "geometric", "gumbel",
                                  "weibull", "pareto", "kumaraswamy", "half Cauchy", "logistic normal", "low rank",
                                  "relaxed bernoulli", "relaxed one hot", "multinomial", "continuous bernoulli",
                                  "generalized pareto"])
def test_numbers_of_a_seed(name):
    """On the CPU they are torch's."""
    (ours, _), (theirs, _) = pair(name, "cpu")
    for method in ("sample", "rsample") if theirs.has_rsample else ("sample",):
        for lib in (mindtorch, torch):
            lib.manual_seed(5)
        agree(getattr(ours, method)((3,)).numpy(), getattr(theirs, method)((3,)).numpy(), 1e-5)


def test_gamma_numbers_of_a_seed():
    """Sample by sample: each number takes as many from the generator as in torch."""
    found = []
    for lib in (mindtorch, torch):
        lib.manual_seed(0)
        single = lib.distributions.Gamma(lib.tensor(1.0), lib.tensor(1.0))
        several = lib.distributions.Gamma(lib.tensor([0.3, 2.0, 30.0]), lib.tensor([1.0, 2.0, 0.5]))
        found.append([single.sample().item() for _ in range(6)] + several.sample((4,)).flatten().tolist())
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("logits", [100.0, -100.0, 17.0, 0.0])
def test_continuous_bernoulli_of_extreme_odds(logits, device):
    """Probabilities that round to 0 or 1 keep a finite density."""
    def density(lib, device):
        place = lib.tensor([0.0, 0.5, 1.0], device=device)
        return lib.distributions.ContinuousBernoulli(logits=lib.tensor(logits, device=device)).log_prob(place).tolist()
    np.testing.assert_allclose(density(mindtorch, device), density(torch, "cpu"), rtol=1e-5)


@pytest.mark.parametrize("name", ["normal", "uniform", "exponential", "laplace", "cauchy", "gamma", "chi2", "beta",
                                  "dirichlet", "student", "F", "inverse gamma"])
def test_samples_carry_gradients(name):
    make, _ = DISTRIBUTIONS[name]
    found = []
    for lib in (mindtorch, torch):
        given = []

        def leaf(values, lib=lib, given=given):
            given.append(lib.tensor(values, requires_grad=True))
            return given[-1]
        made = make(lib.distributions, leaf)
        lib.manual_seed(1)
        assert made.has_rsample
        made.rsample((4,)).sigmoid().sum().backward()
        found.append([each.grad.numpy() for each in given])
    for ours, theirs in zip(*found, strict=True):
        agree(ours, theirs, 1e-3)       # torch's gradients of gamma and beta numbers are approximations


def test_gradients_of_gamma_and_beta_numbers(device):
    """Beside differences of quantiles, and beside torch, in both tails and around the mode."""
    from scipy import special
    shape = np.array([0.05, 0.4, 1.0, 3.0, 20.0, 700.0])[:, None] * np.ones(5)
    rank = np.array([0.03, 0.3, 0.5, 0.8, 0.99])
    step = 1e-5 * shape

    def slope(quantile):
        return (quantile(shape + step, rank) - quantile(shape - step, rank)) / (2 * step)

    def close(name, exact, *numbers):
        ours, theirs = (getattr(lib, name)(*(lib.tensor(each.astype(np.float32)).to(where) for each in numbers))
                        for lib, where in ((mindtorch, device), (torch, "cpu")))
        np.testing.assert_allclose(ours.cpu().numpy(), exact, rtol=1e-3)
        np.testing.assert_allclose(ours.cpu().numpy(), theirs.numpy(), rtol=2e-3)

    numbers = special.gammaincinv(shape, rank)
    kept = numbers > 1e-20
    close("_standard_gamma_grad", slope(special.gammaincinv)[kept], shape[kept], numbers[kept])
    numbers = special.betaincinv(shape, 2.5, rank)
    kept = (numbers > 1e-20) & (numbers < 0.9999)
    growth = slope(lambda a, rank: special.betaincinv(a, 2.5, rank)) / (1 - numbers)
    close("_dirichlet_grad", growth[kept], numbers[kept], shape[kept], shape[kept] + 2.5)


def test_mode_of_kumaraswamy():
    made = mindtorch.distributions.Kumaraswamy(mindtorch.tensor([3.0, 0.5]), mindtorch.tensor([1.5, 2.0]))
    x = mindtorch.linspace(0.001, 0.999, 999)
    assert abs(made.mode[0] - x[made.log_prob(x[:, None])[:, 0].argmax()]) < 1e-3
    assert made.mode[1].isnan()


PAIRS = ["cauchy", "geometric", "half normal", "binomial", "gumbel", "normal", "categorical", "one hot",
         "bernoulli", "beta", "dirichlet", "gamma", "exponential", "laplace",
         "poisson", "uniform", "multivariate normal", "independent", "pareto"]


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name, device):
    shifted = {"uniform": lambda d, t: d.Uniform(t([-0.5, -2.0]), t([1.5, 4.0])),
               "categorical": lambda d, t: d.Categorical(t([[1.0, 0.0, 5.0], [3.0, 2.0, 1.0]])),
               "one hot": lambda d, t: d.OneHotCategorical(t([[2.0, 3.0], [2.0, 1.0]])),
               "binomial": lambda d, t: d.Binomial(6, t([0.5, 0.3])),
               "geometric": lambda d, t: d.Geometric(t([0.5, 0.3])),
               "half normal": lambda d, t: d.HalfNormal(t([1.5, 2.0])),
               "pareto": lambda d, t: d.Pareto(t([0.4, 0.7]), t([3.0, 1.5])),
               "multivariate normal": lambda d, t: d.MultivariateNormal(t([0.0, 0.5]), t([[1.0, -0.2], [-0.2, 3.0]])),
               "independent": lambda d, t: d.Independent(d.Normal(t([2.0, 1.0]), t([0.5, 0.5])), 1)}.get(name)
    found = []
    for (made, _), lib in zip(pair(name, device), (mindtorch, torch), strict=True):
        if shifted is not None:
            other = shifted(lib.distributions, lambda v, lib=lib: tensor(lib, v, device))
        else:
            listed = [key for key in made.arg_constraints if key in made.__dict__ or name == "beta"]
            other = type(made)(**{key: getattr(made, key) * 0.7 for key in listed})
        found.append(outcome(lambda made=made, other=other, lib=lib: lib.distributions.kl_divergence(made, other)))
        assert outcome(lambda made=made, lib=lib: lib.distributions.kl_divergence(made, made)).max() < 1e-5
    agree(*found, tolerance=1e-4)


CROSSED = {
    "Bernoulli": lambda d, t: d.Bernoulli(t([0.25, 0.9])), "Poisson": lambda d, t: d.Poisson(t([0.5, 4.0])),
    "Binomial": lambda d, t: d.Binomial(6, t([0.25, 0.9])), "Beta": lambda d, t: d.Beta(t([0.5, 3.0]), t([2.0, 2.0])),
    "ContinuousBernoulli": lambda d, t: d.ContinuousBernoulli(t([0.25, 0.5])),
    "Exponential": lambda d, t: d.Exponential(t([0.5, 3.0])),
    "Gamma": lambda d, t: d.Gamma(t([0.5, 3.0]), t([1.0, 2.0])),
    "Gumbel": lambda d, t: d.Gumbel(t([0.5, 3.0]), t([1.0, 2.0])),
    "Laplace": lambda d, t: d.Laplace(t([0.5, 3.0]), t([1.0, 2.0])),
    "Normal": lambda d, t: d.Normal(t([0.5, 3.0]), t([1.0, 2.0])),
    "Pareto": lambda d, t: d.Pareto(t([0.5, 0.6]), t([3.5, 0.9])),
    "Uniform": lambda d, t: d.Uniform(t([0.1, 0.7]), t([0.6, 3.0])),
    "LowRankMultivariateNormal": lambda d, t: d.LowRankMultivariateNormal(
        t([1.0, -1.0, 0.0]), t([[2.0], [0.3], [-1.0]]), t([0.5, 1.0, 2.0])),
    "MultivariateNormal": lambda d, t: d.MultivariateNormal(
        t([0.0, 1.0, 0.5]), scale_tril=t([[2.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.2, 0.1, 0.5]])),
}


@pytest.mark.parametrize("names", sorted(
    (p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY
    if {p.__name__, q.__name__} <= set(CROSSED) and (p is not q or p.__name__[:3] in ("Con", "Low"))), ids="-".join)
def test_divergences_between_classes(names, device):
    made = [[CROSSED[name](lib.distributions, lambda v, lib=lib: tensor(lib, v, device)) for name in names]
            for lib in (mindtorch, torch)]
    agree(*(lib.distributions.kl_divergence(*each).cpu().numpy()
            for lib, each in zip((mindtorch, torch), made, strict=True)), 1e-4)


def test_divergence_from_a_uniform_on_all_that_there_is():
    """It is finite. torch gives infinity where the bounds of the Uniform are those of the other distribution."""
    d, one = mindtorch.distributions, mindtorch.tensor(0.25)
    found = d.kl_divergence(d.ContinuousBernoulli(one), d.Uniform(0.0, 1.0))
    assert abs(found + d.ContinuousBernoulli(one).entropy()) < 1e-6
    assert d.kl_divergence(d.Uniform(0.0, 1.0), d.ContinuousBernoulli(one)).isfinite()


def test_classes_that_divergences_are_registered_for():
    for lib in (mindtorch, torch):
        with pytest.raises(TypeError):
            lib.distributions.register_kl(3, lib.distributions.Normal)
        assert callable(lib.distributions.register_kl(object, lib.distributions.Normal))


def test_all_pairs_of_divergences_are_known():
    named = [{(p.__name__, q.__name__) for p, q in table}
             for table in (mindtorch.distributions.kl._KL_REGISTRY, torch.distributions.kl._KL_REGISTRY)]
    assert named[1] <= named[0]


def test_divergence_of_own_classes():
    class Mine(mindtorch.distributions.Normal):
        pass
    one, other = Mine(0.0, 1.0), mindtorch.distributions.Normal(1.0, 1.0)
    assert mindtorch.distributions.kl_divergence(one, other).item() == 0.5

    @mindtorch.distributions.register_kl(Mine, mindtorch.distributions.Normal)
    def divergence(p, q):
        return "mine"
    assert mindtorch.distributions.kl_divergence(one, other) == "mine"
    with pytest.raises(NotImplementedError, match="is implemented for p type Normal and q type Cauchy"):
        mindtorch.distributions.kl_divergence(other, mindtorch.distributions.Cauchy(1.0, 1.0))


REFUSED = [
    "d.CatTransform([d.ExpTransform()], 0, [1, 2])", "d.CatTransform([3])", "d.StackTransform([3])",
    "d.CatTransform([d.ExpTransform(), d.ExpTransform()])(torch.ones(3))",
    "d.StackTransform([d.ExpTransform(), d.ExpTransform()])(torch.ones(3))", "d.ContinuousBernoulli()",
    "d.ContinuousBernoulli(1.5, validate_args=True)", "d.GeneralizedPareto(0.0, -1.0, 0.0)",
    "d.CorrCholeskyTransform().forward_shape((4,))", "d.CorrCholeskyTransform().forward_shape(())",
    "d.CorrCholeskyTransform().inverse_shape((4,))", "d.CorrCholeskyTransform().inverse_shape((4, 3))",
    "d.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, -1.0]))", "d.Normal(0.0, float('nan'))", "d.Normal('a', 1)",
    "d.Uniform(2.0, 1.0)", "d.Categorical()", "d.Categorical(torch.tensor(1.0))",
    "d.Categorical(torch.tensor([-1.0, 2.0]))",
    "d.Bernoulli(torch.tensor([1.5]))", "d.Normal(0.0, 1.0).log_prob(1.0)",
    "d.Categorical(torch.ones(3)).log_prob(torch.tensor([3]))",
    "d.Normal(0.0, 1.0).log_prob(torch.tensor(float('nan')))",
    "d.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2))", "d.Dirichlet(torch.ones(3)).log_prob(torch.ones(2))",
    "d.MultivariateNormal(torch.zeros(2))", "d.MultivariateNormal(torch.zeros(2), torch.ones(2, 2))",
    "d.MultivariateNormal(torch.tensor(0.0), torch.ones(1, 1))", "d.Independent(d.Normal(0.0, 1.0), 1)",
    "d.TransformedDistribution(d.Normal(0.0, 1.0), 3)", "d.Poisson(1.0).rsample()",
    "d.Categorical(torch.ones(2)).cdf(1)",
    "d.LKJCholesky(1)", "d.Multinomial(torch.ones(2))", "d.Wishart(1.0, torch.eye(3))", "d.Wishart(3.0)",
    "d.NegativeBinomial(2.0)", "d.HalfCauchy(-1.0)", "d.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), 1)",
    "d.VonMises(torch.tensor(0.0), torch.tensor(-1.0))", "d.HalfCauchy(1.0).log_prob(torch.tensor(-1.0))",
    "d.MixtureSameFamily(d.Normal(0., 1.), d.Normal(0., 1.))", "d.Bernoulli(0.5).rsample()", "d.Geometric(0.0)",
    "d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.zeros(3), 1.))", "d.AffineTransform(1, 2, 0, 5)",
]


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(call):
    with pytest.raises(Exception) as theirs:        # noqa: PT011 - the two are compared
        eval(call, {"torch": torch, "d": torch.distributions})
    with pytest.raises(theirs.type) as ours:
        eval(call, {"torch": mindtorch, "d": mindtorch.distributions})
    assert str(ours.value).replace("mindtorch", "torch") == str(theirs.value)


TRANSFORMS = {
    "exp": lambda d, t: d.ExpTransform(), "sigmoid": lambda d, t: d.SigmoidTransform(),
    "tanh": lambda d, t: d.TanhTransform(), "inverse": lambda d, t: d.SigmoidTransform().inv,
    "softplus": lambda d, t: d.SoftplusTransform(), "affine": lambda d, t: d.AffineTransform(t([1.0, 2.0]), -3.0),
    "affine of vectors": lambda d, t: d.AffineTransform(1.0, 3.0, event_dim=1),
    "composed": lambda d, t: d.ComposeTransform([d.AffineTransform(0.0, 0.5), d.SigmoidTransform(),
                                                 d.PowerTransform(2.0)]),
    "independent": lambda d, t: d.IndependentTransform(d.ExpTransform(), 1),
    "stick": lambda d, t: d.StickBreakingTransform(),
    "reshape": lambda d, t: d.ReshapeTransform((2,), (2, 1)), "softmax": lambda d, t: d.SoftmaxTransform(),
    "composed of vectors": lambda d, t: d.ComposeTransform([d.ExpTransform(), d.StickBreakingTransform()]),
    "abs": lambda d, t: d.AbsTransform(), "cholesky": lambda d, t: d.LowerCholeskyTransform(),
    "cat": lambda d, t: d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 3.0)], -1),
    "cat of rows": lambda d, t: d.CatTransform([d.ExpTransform()], 0, [2]),
    "cat of vectors and numbers": lambda d, t: d.CatTransform([
        d.IndependentTransform(d.ExpTransform(), 1), d.TanhTransform()], 0),
    "stack": lambda d, t: d.StackTransform([d.ExpTransform(), d.AffineTransform(1.0, 3.0)], 1),
    "positive definite": lambda d, t: d.PositiveDefiniteTransform(),
    "correlation": lambda d, t: d.ComposeTransform([d.ReshapeTransform((2, 2), (1, 4)), d.CatTransform(
        [d.AffineTransform(0.5, 2.0), d.ExpTransform()], 1, [1, 3]), d.ReshapeTransform((1, 4), (4,))]),
    "cdf": lambda d, t: d.CumulativeDistributionTransform(__import__(d.__name__.partition(".")[0]).distributions.Normal(
        t([0.5, 1.0]), 2.0)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, device):
    found = []
    for lib in (mindtorch, torch):
        made = TRANSFORMS[name](lib.distributions.transforms, lambda v, lib=lib: tensor(lib, v, device))
        x = tensor(lib, [[0.3, 0.6], [0.8, 0.4]], device)
        y = made(x)
        results = [outcome(lambda y=y: y), outcome(lambda made=made, y=y: made.inv(y))]
        results.append(outcome(lambda made=made, x=x, y=y: made.log_abs_det_jacobian(x, y)))
        results += [made.bijective, outcome(lambda made=made: made.sign), made.forward_shape((2, 2)), repr(made.domain),
                    repr(made.codomain), made.domain.event_dim, made.codomain.event_dim, repr(made),
                    made.inv.inv is made, made == TRANSFORMS[name](lib.distributions.transforms, lambda v: 0.0),
                    made.inv == made]
        found.append(results)
    for ours, theirs in zip(*found, strict=True):
        agree(ours, theirs, 1e-4)


def test_transform_to_factors_of_correlations(device):
    found = []
    for lib in (mindtorch, torch):
        made = lib.distributions.transform_to(lib.distributions.constraints.corr_cholesky)
        x = tensor(lib, [[0.3, -1.5, 0.7], [2.0, 0.1, 0.0]], device).requires_grad_()
        y = made(x)
        jacobian = made.log_abs_det_jacobian(x, y)
        (jacobian.sum() + y.square().mul(tensor(lib, [[1.0, 2.0, 3.0]] * 3, device)).sum()).backward()
        found.append([outcome(lambda each=each: each) for each in (y, made.inv(y), jacobian, x.grad)] + [
            made.codomain.check(y.detach()).all().item(), made.forward_shape((7, 6)), made.inverse_shape((7, 4, 4))])
    for ours, theirs in zip(*found, strict=True):
        agree(ours, theirs, 1e-4)


def test_parts_of_joined_transforms_keep_their_caches():
    d = mindtorch.distributions
    for made in (d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, cache_size=1),
                 d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0).with_cache()):
        x = mindtorch.tensor([1.0, 30.0])
        assert made.inv(made(x)) is x
        assert [each._cache_size for each in made.transforms] == [1, 1]


FAMILIES = ["bernoulli", "beta", "continuous bernoulli", "dirichlet", "exponential", "gamma", "chi2", "normal",
            "poisson", "wishart"]


@pytest.mark.parametrize("name", FAMILIES)
def test_exponential_families(name, device):
    """The entropy by the log normalizer alone is torch's, or that of the class's own formula."""
    pairs, results = pair(name, device), []
    for lib, (made, _) in zip((mindtorch, torch), pairs, strict=True):
        family = lib.distributions.ExponentialFamily
        assert isinstance(made, family)
        if name == "wishart":                   # torch's has the other sign, and fails without a shape
            results.append([(family if lib is mindtorch else type(made)).entropy(made).detach().cpu().numpy()])
            continue
        listed = [key for key in made.arg_constraints if key != "logits"]
        other = type(made)(*(getattr(made, key) * 0.7 for key in listed))
        table = lib.distributions.kl._KL_REGISTRY
        results.append([outcome(lambda made=made, family=family: family.entropy(made)),
                        outcome(lambda made=made, other=other, f=table[family, family]: f(made, other))])
    for ours, theirs in zip(*results, strict=True):
        agree(ours, theirs, 1e-4)


def test_different_exponential_families_have_no_common_formula():
    d = mindtorch.distributions
    with pytest.raises(NotImplementedError, match="using Bregman divergences"):
        d.kl_divergence(d.Poisson(1.0), d.Exponential(1.0))


def test_a_cache_hands_back_the_argument():
    transform, x = mindtorch.distributions.TanhTransform(cache_size=1), mindtorch.tensor([30.0])
    y = transform(x)
    assert transform(x) is y
    assert transform.inv(y) is x
    assert transform.with_cache(0).inv(y).isinf()
    assert mindtorch.distributions.TanhTransform().with_cache(1)(x) == 1


def test_validation_can_be_turned_off():
    normal = mindtorch.distributions.Normal(0.0, -1.0, validate_args=False)
    assert normal.stddev == -1
    mindtorch.distributions.Distribution.set_default_validate_args(False)
    try:
        assert mindtorch.distributions.Normal(0.0, -1.0).scale == -1
    finally:
        mindtorch.distributions.Distribution.set_default_validate_args(True)
    with pytest.warns(UserWarning, match="sample_n"):
        assert mindtorch.distributions.Poisson(2.0).sample_n(3).shape == (3,)


def test_pickles():
    for made in (mindtorch.distributions.Normal(0.0, 1.0), mindtorch.distributions.LogNormal(0.0, 1.0)):
        again = pickle.loads(pickle.dumps(made))
        assert repr(again) == repr(made)
        assert again.mean == made.mean


@pytest.mark.parametrize("name", ["boolean", "real", "corr_cholesky", "positive", "unit_interval", "simplex",
                                  "lower_cholesky",
                                  "one_hot", "nonnegative_integer", "positive_definite", "real_vector", "symmetric",
                                  "square", "lower_triangular", "nonnegative", "positive_integer",
                                  "positive_semidefinite"])
def test_constraints(name):
    values = [[[1.0, 0.0], [0.5, 0.5]], [[2.0, 0.3], [0.3, 2.0]], [[-1.0, float("nan")], [1.0, 1.0]],
              [[1.0, 0.0], [-2.0, 3.0]]]
    found = [getattr(lib.distributions.constraints, name) for lib in (mindtorch, torch)]
    ours, theirs = (each.check(lib.tensor(values)).numpy() for each, lib in zip(found, (mindtorch, torch), strict=True))
    agree(ours, theirs)
    assert repr(found[0]) == repr(found[1])
    assert (found[0].is_discrete, found[0].event_dim) == (found[1].is_discrete, found[1].event_dim)


@pytest.mark.parametrize("joined", ["cat([c.positive, c.simplex], -1, [1, 2])", "stack([c.boolean, c.real], 1)",
                                    "cat([c.real, c.real, c.one_hot], dim=0)", "stack([c.real], 3)", "cat([c.real], 1)",
                                    "cat([c.real], 0, [1, 2])", "stack([c.real, 3])", "stack([c.real, c.real], 5)",
                                    "interval(1, upper_bound=2)", "greater_than(lower_bound=0.5)",
                                    "interval(1)", "greater_than(1, 2)", "interval(1, 2, 3)",
                                    "less_than(lower_bound=1)"])
def test_joined_constraints(joined):
    values, found = [[[1.0, 0.0, 1.0], [0.5, 0.5, 2.0]], [[0.0, 0.3, 0.7], [0.3, 2.0, -1.0]]], []
    for lib in (mindtorch, torch):
        try:
            made = eval(f"c.{joined}", {"c": lib.distributions.constraints})
            found.append((made.is_discrete, made.event_dim, made.check(lib.tensor(values)).tolist()))
        except (AssertionError, TypeError, RuntimeError, IndexError) as error:
            found.append(type(error))
    assert found[0] == found[1]


REGISTERED = ["real", "real_vector", "positive", "nonnegative", "greater_than(2.0)", "greater_than_eq(-1)",
              "less_than(3.0)", "unit_interval", "interval(-1.0, 4.0)", "half_open_interval(0.5, 2.0)", "simplex",
              "lower_cholesky", "independent(c.unit_interval, 1)", "positive_definite",
              "cat([c.positive, c.real], -1)", "stack([c.positive, c.unit_interval], -1)", "boolean",
              "positive_integer"]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("constraint", REGISTERED)
def test_transforms_for_constraints(registry, constraint, device):
    found = []
    for lib in (mindtorch, torch):
        c = lib.distributions.constraints
        wanted = eval(f"c.{constraint}", {"c": c})
        try:
            made = getattr(lib.distributions, registry)(wanted)
        except NotImplementedError as error:
            found.append(str(error))
            continue
        x = tensor(lib, [[0.5, -1.0], [2.0, 0.25]], device)
        found.append([outcome(lambda made=made, x=x: made(x)), made.bijective, type(made).__name__,
                      bool(wanted.check(made(x)).all())])
    if isinstance(found[1], str):
        assert found[0] == found[1]
    else:
        for ours, theirs in zip(*found, strict=True):
            agree(ours, theirs)


@pytest.mark.parametrize("diag", [-2, -1, 0, 1, 2])
def test_triangles_as_vectors(diag):
    from mindtorch.distributions import utils
    theirs = torch.distributions.utils
    values = np.arange(32.0).reshape(2, 4, 4)
    vector = utils.tril_matrix_to_vec(mindtorch.tensor(values), diag)
    assert vector.tolist() == theirs.tril_matrix_to_vec(torch.tensor(values), diag).tolist()
    assert utils.vec_to_tril_matrix(vector, diag).tolist() == np.tril(values, diag).tolist()


def test_vectors_that_are_no_triangle():
    for lib in (mindtorch, torch):
        with pytest.raises(ValueError, match="cannot be expressed as the lower triangular part"):
            lib.distributions.utils.vec_to_tril_matrix(lib.ones(5))
        with pytest.raises(ValueError, match="is outside"):
            lib.distributions.utils.tril_matrix_to_vec(lib.ones(2, 2), 2)


def test_divergence_of_wishart():
    """Pair by pair beside torch, whose batches of pairs do not give what its pairs give."""
    first, second = ([2.0, 0.3], [0.3, 1.0]), ([1.0, 0.1], [0.1, 3.0])

    def divergence(lib, df, other):
        made = [lib.distributions.Wishart(*(lib.tensor(value, dtype=lib.float64) for value in pair))
                for pair in ((df, first), (other, second))]
        return lib.distributions.kl_divergence(*made).tolist()
    single = [divergence(mindtorch, *pair) for pair in ((4.0, 5.0), (6.5, 3.5))]
    assert single == pytest.approx([divergence(torch, *pair) for pair in ((4.0, 5.0), (6.5, 3.5))], rel=1e-12)
    assert divergence(mindtorch, [4.0, 6.5], [5.0, 3.5]) == pytest.approx(single, rel=1e-12)


def test_integers_for_logits():
    for name in ("Categorical", "OneHotCategorical"):
        ours, theirs = (getattr(lib.distributions, name)(logits=lib.tensor([1, 3, 2])).logits.tolist()
                        for lib in (mindtorch, torch))
        assert ours == pytest.approx(theirs)


def test_wishart_of_a_whole_number_of_degrees(device):
    """Its numbers have the dtype of the matrix."""
    made = mindtorch.distributions.Wishart(mindtorch.tensor(4, device=device), mindtorch.eye(2, device=device))
    assert made.sample((3,)).dtype is mindtorch.float32
