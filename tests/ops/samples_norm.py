"""Samples of normalisation."""
from dataclasses import replace

from samples import FLOATING, sample


def _parameters(make, *shape, dtype=None):
    """Weight and bias, where there are both, one, or none."""
    for weight, bias in ((True, True), (True, False), (False, True), (False, False)):
        yield make(*shape, dtype=dtype) if weight else None, make(*shape, dtype=dtype) if bias else None


@sample
def layer_norm(make):
    for parameters in _parameters(make, 4):
        yield (make(2, 4), (4,), *parameters, 1e-3), {}
    for shape, normalized in (((2, 3, 4), (3, 4)), ((5,), (5,)), ((0, 3), (3,)), ((2, 0), (0,))):
        yield (make(*shape), normalized, make(*normalized), make(*normalized), 0.1), {}
    for parameters in _parameters(make, 4, dtype="float32"):
        yield (make(2, 4), (4,), *parameters, 1e-3), {}
    yield (make(2, 4), (4,), make(4, dtype="float64"), None, 1e-3), {}
    yield (make(2, 4), (4,), make(3), None, 1e-3), {}
    yield (make(2, 4), (3,), None, None, 1e-3), {}
    yield (make(4), (2, 4), None, None, 1e-3), {}
    yield (make(2, 4), (), None, None, 1e-3), {}


@sample
def layer_norm_function(make):
    yield (make(2, 4), (4,)), {}
    yield (make(2, 4), (4,), make(4)), {"eps": 0.1, "cudnn_enable": False}
    yield (make(2, 4), (4,), make(4), make(4), 0.1), {}
    yield (make(2, 4), (4,), 1.0), {}
    yield (make(2, 4), (3,)), {}


def _statistics(make, *shape):
    """Means and reciprocal deviations."""
    return [replace(make(*shape, low=low, high=1.5), dense=True) for low in (-1.5, 0.5)]


@sample
def layer_norm_backward(make):
    """The mask leaves out what there is not: torch ends in an error of its own making there."""
    empty = [((0, 3), (3,))] if make.dtype in FLOATING else []         # of others torch looks at the dtype too late
    for shape, normalized in [((2, 4), (4,)), ((2, 3, 4), (3, 4)), *empty]:
        lines = (*shape[:len(shape) - len(normalized)], *(1,) * len(normalized))
        for weight, bias in _parameters(make, *normalized):
            for of_input in (True, False):
                mask = [of_input, weight is not None, bias is not None]
                yield (make(*shape), make(*shape), normalized, *_statistics(make, *lines), weight, bias, mask), {}
