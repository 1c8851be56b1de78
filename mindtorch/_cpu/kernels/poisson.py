"""CPU kernels of the Poisson, binomial and gamma distributions, whose numbers the generator draws one by one."""
import numpy as np

_THIRD = np.float64(np.float32(1 / 3))      # torch has it in float32


def _line(array, shape):
    """The elements of `array`, broadcast to `shape`, in order as float64."""
    return np.array(np.broadcast_to(array, shape), np.float64, order="C").reshape(-1)


def _check_finite(numbers, what):
    if np.any(np.isinf(numbers)):
        raise OverflowError(f"{what} is infinite")


def poisson(rates, stream):
    """Samples of the Poisson distribution with the mean `rate`."""
    if not np.all(rates >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    _check_finite(rates, "the rate of a Poisson distribution")
    return stream.poisson(_line(rates, rates.shape)).reshape(rates.shape)


def standard_gamma(shapes, stream):
    """Gamma numbers of rate 1. As in torch, what comes of the shape alone is rounded to its dtype."""
    def rounded(numbers):
        return numbers.astype(shapes.dtype).astype(np.float64)

    given = _line(shapes, shapes.shape)
    small = given < 1
    exponents = np.where(small, rounded(1 / given), 0)
    d = rounded(np.where(small, rounded(given + 1), given) - _THIRD)
    numbers = stream.gamma(d, np.where(given == 0, np.inf, exponents))
    return np.maximum(numbers.astype(shapes.dtype), np.finfo(shapes.dtype).tiny).reshape(shapes.shape)


def sample_dirichlet(concentrations, stream):
    """Gamma numbers over their sums along the last dimension."""
    gammas = standard_gamma(concentrations.astype(np.float64), stream)
    kept = np.finfo(concentrations.dtype)
    return np.clip(gammas / gammas.sum(-1, keepdims=True), kept.tiny, 1 - kept.epsneg).astype(concentrations.dtype)


def binomial(counts, probs, stream):
    """How many of `count` trials succeed, each with probability `prob`."""
    shape = np.broadcast_shapes(counts.shape, probs.shape)
    counts, probs = _line(counts, shape), _line(probs, shape)
    _check_finite(counts[(probs > 0) & (probs < 1)], "the count of a binomial distribution")
    return stream.binomial(counts, probs).reshape(shape)
