"""Samples of normalisation."""
import math
from dataclasses import replace

from samples import FLOATING, Description, sample


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


def _dense(described):
    """torch's function calls its operators with contiguous tensors alone."""
    return [replace(each, dense=True) if isinstance(each, Description) else each for each in described]


@sample
def group_norm(make):
    yield from ((_dense(each), {}) for each in _grouped(make))


def _grouped(make):
    for parameters in _parameters(make, 4):
        yield (make(2, 4, 3), *parameters, 2, 4, 3, 2, 1e-3)
    for shape, size, group in (((2, 4, 2, 2), 4, 4), ((3, 4), 1, 1), ((0, 4, 2), 2, 2), ((2, 4, 0), 0, 2)):
        yield (make(*shape), make(4), make(4), shape[0], 4, size, group, 0.1)
    for parameters in _parameters(make, 4, dtype="float32"):
        yield (make(2, 4, 3), *parameters, 2, 4, 3, 2, 1e-3)
    yield (make(2, 4, 3), make(4), make(4, dtype="float64"), 2, 4, 3, 2, 1e-3)
    yield (make(2, 4, 3), make(4, dtype="float16"), None, 2, 4, 3, 2, 1e-3)
    for group in (0, 3):
        yield (make(2, 4, 3), None, None, 2, 4, 3, group, 1e-3)
    yield (make(2, 4, 3), make(3), None, 2, 4, 3, 2, 1e-3)
    yield (make(2, 4, 3), None, None, 2, 4, 5, 2, 1e-3)


@sample
def group_norm_function(make):
    yield (make(2, 4, 3), 2), {}
    yield (make(2, 4, 3), 4, make(4)), {"eps": 0.1, "cudnn_enabled": False}
    yield (make(2, 4), 1, make(4), make(4), 0.1), {}
    yield (make(4), 1), {}
    yield (make(2, 4), 3), {}
    yield (make(2, 4), "1"), {}


@sample
def group_norm_backward(make):
    for shape, size, group in (((2, 4, 3), 3, 2), ((2, 4, 2, 2), 4, 4), ((3, 4), 1, 1)):
        for weight in (make(4), None):
            for of_input in (True, False):
                mask = [of_input, weight is not None, weight is not None]
                yield _dense([make(*shape), make(*shape), *_statistics(make, shape[0], group), weight, shape[0], 4,
                              size, group, mask]), {}


def _running(make, channels, dtype=None):
    """Mean and variance, which the operator writes to."""
    return [replace(make(channels, low=low, high=2, dtype=dtype), expandable=False) for low in (-2, 0.5)]


@sample
def batch_norm(make):
    for training in (True, False):
        for weight, bias in _parameters(make, 4):
            yield (make(2, 4, 3), weight, bias, *_running(make, 4), training, 0.1, 1e-3), {}
            yield (make(3, 4), weight, bias, *_running(make, 4, dtype="float32"), training, 0.3, 1e-3), {}
        for parameters in _parameters(make, 4, dtype="float32"):
            yield (make(2, 4, 3), *parameters, *_running(make, 4, dtype="float32"), training, 0.1, 1e-3), {}
        yield (make(2, 4, 2, 2), None, None, make(4), None, training, 0.1, 1e-3), {}
        yield (make(2, 4), make(4, dtype="float64"), make(4), *_running(make, 4), training, 0.1, 1e-3), {}
    for parameters in _parameters(make, 4):
        yield (make(2, 4, 2, 2), *parameters, None, None, True, 0.1, 1e-3), {}
    yield (make(0, 4), None, None, None, None, True, 0.1, 1e-3), {}


@sample
def batch_norm_backward(make):
    for shape in ((2, 4, 3), (3, 4), (2, 4, 2, 2)):
        for weight in (make(4), None):
            for mask in ([True, True, True], [True, False, False], [False, True, True]):
                saved = _statistics(make, 4)
                yield (make(*shape), make(*shape), weight, None, None, *saved, True, 0.1, mask), {}
                yield (make(*shape), make(*shape), weight, *_running(make, 4), *saved, False, 0.1, mask), {}


@sample
def rms_norm(make):
    for weight in (make(4), make(4, dtype="float32"), None):
        for eps in (0.1, None):
            yield (make(2, 4), (4,), weight, eps), {}
    for shape, normalized in (((2, 3, 4), (3, 4)), ((5,), (5,)), ((0, 3), (3,)), ((2, 0), (0,))):
        yield (make(*shape), normalized, make(*normalized), 0.1), {}


@sample
def rms_norm_backward(make):
    for shape, normalized in (((2, 4), (4,)), ((2, 3, 4), (3, 4))):
        lines = (*shape[:len(shape) - len(normalized)], *(1,) * len(normalized))
        yield (make(*shape), make(*shape), make(*lines, low=0.5, dtype="float32"), make(*normalized)), {}


@sample
def renorm(make):
    for p in (2, 1, 0.5, 3.5, math.inf):
        for dim in (0, -1):
            yield (make(3, 4, low=-1, high=1), p, dim, 1), {}
    yield (make(2, 3, 2), 2, 1, 2.5), {}
    yield (make(2, 3), 2, 0, 0), {}
    yield (make(2, 4, special=True), 2, 0, 3.0), {}
    for shape in ((0, 3), (2, 0)):
        yield (make(*shape), 2, 0, 1.0), {}
    yield (make(3), 2, 0, 1.0), {}
    yield (make(2, 3), 2, 2, 1.0), {}
    yield (make(2, 3), 0, 0, 1.0), {}
    yield (make(2, 3), 2, 0, -1.0), {}
    yield (make(2, 3), 2j, 0, 1.0), {}
