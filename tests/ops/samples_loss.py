"""Samples of losses. Reductions are 0 for none, 1 for the mean, 2 for the sum.

torch takes integers in some backward operators and rounds every gradient to one: those are called with floats.
"""
from samples import FLOATING, Description, sample

SHAPES = ((2, 3), (), (0, 3), (3, 1, 4))


@sample
def loss(make):
    for reduction in (0, 1, 2):
        # soft_margin_loss: exp of a product, which float16 holds up to 11.
        yield from (((make(*shape, low=-3, high=3), make(*shape, low=-3, high=3), reduction), {}) for shape in SHAPES)
        yield (make(2, 3, low=-3, high=3), make(3, low=-3, high=3), reduction), {}
    yield (make(2, 3, low=-3, high=3), make(2, 3, low=-3, high=3)), {}
    yield (make(2, 3), make(4)), {}
    yield from (((make(2, 3), make(2, 3, dtype=dtype), 2), {}) for dtype in ("bool", "int64", "float32"))


def _gradients(make, low=-4, high=4):
    """(gradient, input, target), reduction: of floats."""
    if make.dtype not in FLOATING:
        return
    for reduction in (0, 1, 2):
        for shape in SHAPES:
            grad = make(*shape) if reduction == 0 else make()
            yield (grad, make(*shape, low=low, high=high), make(*shape, low=low, high=high)), reduction


@sample
def loss_backward(make):
    for tensors, reduction in _gradients(make):
        yield (*tensors, reduction), {}


@sample
def smooth_l1_loss(make):
    for beta in (1.0, 2.5, 0):
        yield from (((make(*shape), make(*shape), reduction, beta), {}) for shape in SHAPES for reduction in (0, 1, 2))
    yield (make(2, 3), make(2, 3)), {}
    yield (make(2, 3), make(3), 1, -1.0), {}


@sample
def smooth_l1_loss_backward(make):
    for beta in (1.0, 2.5):
        for tensors, reduction in _gradients(make):
            yield (*tensors, reduction, beta), {}


def _chances(make, shape):
    return make(*shape, low=0.05, high=0.95)


@sample
def binary_cross_entropy(make):
    for reduction in (0, 1, 2):
        for shape in SHAPES:
            for weight in (None, make(*shape, low=0, high=2)):
                yield (_chances(make, shape), _chances(make, shape), weight, reduction), {}
    yield (_chances(make, (2, 3)), make(2, 3, low=0, high=1, dtype="float32")), {}
    yield (_chances(make, (2, 3)), _chances(make, (2, 3)), make(3, low=0)), {}


@sample
def binary_cross_entropy_backward(make):
    for weight in (None, make(low=0, high=2)):
        for tensors, reduction in _gradients(make, low=0.05, high=0.95):
            yield (*tensors, weight, reduction), {}


@sample
def binary_cross_entropy_with_logits(make):
    weights = ((None, None), (make(3, low=0), None), (None, make(3, low=0)), (make(2, 3, low=0), make(2, 1, low=0)))
    for reduction in (0, 1, 2):
        yield from (((make(2, 3), _chances(make, (2, 3)), *both, reduction), {}) for both in weights)
        yield from (((make(*shape), _chances(make, shape), None, None, reduction), {}) for shape in SHAPES)
    yield (make(2, 3), _chances(make, (2, 3)), make(4, 2, 3)), {}
    yield (make(2, 3), _chances(make, (3,))), {}
    yield (make(3), _chances(make, (2, 3))), {}
    yield from (((make(2, 3), make(2, 3, low=0, high=1, dtype=d)), {}) for d in ("bool", "int64", "float32"))


@sample
def binary_cross_entropy_with_logits_backward(make):
    for tensors, reduction in _gradients(make):
        yield (*tensors, None, None, reduction), {}


@sample
def kl_div(make):
    for reduction in (0, 1, 2):
        for shape in SHAPES:
            yield (make(*shape, low=-3, high=0), _chances(make, shape), reduction), {}
            yield (make(*shape, low=-3, high=0), make(*shape, low=-3, high=0), reduction), {"log_target": True}
    yield (make(2, 3, low=-3, high=0), make(2, 3, low=-1, high=1, dtype="float32")), {}
    yield (make(2, 3), make(4)), {}


@sample
def kl_div_backward(make):
    for tensors, reduction in _gradients(make):
        yield (*tensors, reduction), {}


def _labels(make, *shape, labels):
    return make(*shape), Description(shape, labels, "int64")


@sample
def multilabel_margin_loss(make):
    """The second row's labels end before its last."""
    for reduction in (0, 1, 2):
        yield (*_labels(make, 2, 4, labels=(3, 0, -1, 1, 2, -1, -1, 0)), reduction), {}
        yield (*_labels(make, 2, 3, labels=(0, 1, 2, -1, 0, 1)), reduction), {}
        yield (*_labels(make, 4, labels=(1, -1, 2, 3)), reduction), {}
        yield (*_labels(make, 1, 2, labels=(1, 0)), reduction), {}
    yield (make(2, 3), make(3, low=0, high=2, dtype="int64"), 1), {}
    yield (make(2, 3), make(2, 3, low=0, high=2, dtype="float32"), 1), {}
    yield (make(2, 0), make(2, 0, dtype="int64"), 1), {}


@sample
def multilabel_margin_loss_backward(make):
    for reduction in (0, 1, 2):
        for shape, labels, marks in (((2, 4), (3, 0, -1, 1, 2, -1, -1, 0), (1, 0, 0, 1, 0, 0, 1, 0)),
                                     ((3,), (1, -1, 2), (0, 1, 0)), ((), (0,), (1,))):
            grad = make(*shape[:-1]) if reduction == 0 else make()
            yield (grad, *_labels(make, *shape, labels=labels), reduction, Description(shape, marks, make.dtype)), {}


def _classes_of_pixels(make, shapes):
    for shape in shapes:
        yield make(*shape), make(shape[0], *shape[2:], low=0, high=shape[1] - 1, dtype="int64")


@sample
def nll_loss2d(make):
    for reduction in (0, 1, 2):
        for scores, target in _classes_of_pixels(make, ((2, 3, 2, 2), (1, 3, 1, 4), (0, 3, 2, 2))):
            yield (scores, target, None, reduction, -100), {}
            yield (scores, target, make(3, low=0.5), reduction, 1), {}
    yield (scores, target, make(2), 1, -100), {}
    yield (make(3, 2, 2), target, None, 1, -100), {}
    yield (make(1, 3, 2, 2), make(1, 2, dtype="int64"), None, 1, -100), {}
    yield (make(1, 3, 2, 2), make(1, 2, 3, dtype="int64"), None, 1, -100), {}
    yield (make(1, 3, 2, 2), make(1, 2, 2, dtype="float32"), None, 1, -100), {}


@sample
def nll_loss2d_backward(make):
    """torch takes dense scores only: those whose first and last dimensions are 1 are dense when transposed."""
    for reduction in (0, 1, 2):
        for scores, target in _classes_of_pixels(make, ((1, 3, 2, 1), (1, 3, 4, 1))):
            grad = make(*target.shape) if reduction == 0 else make()
            total = Description((), (len(target.values),), make.dtype)
            yield (grad, scores, target, None, reduction, -100, total), {}
