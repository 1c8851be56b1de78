"""Samples of what neural networks need: activation functions, normalisation, losses."""
import math
from dataclasses import replace

from samples import FLOATING, Description, sample


def _floats(make):
    for shape in ((2, 3), (), (0, 3), (3, 1, 4)):
        yield make(*shape)
    yield make(8, special=True)


def _pairs(make):
    """A gradient and what the function was computed from. No NaN: torch's loops differ there with dtype and length."""
    for shape in ((2, 3), (), (0, 3), (3, 1, 4)):
        yield make(*shape), make(*shape)


@sample
def activation_backward(make):
    yield from ((pair, {}) for pair in _pairs(make))


@sample
def gelu(make):
    for approximate in ("none", "tanh"):
        yield from (((make(*shape),), {"approximate": approximate}) for shape in ((2, 3), (), (0, 3), (3, 1, 4)))
    yield (make(2, 3),), {"approximate": "sigmoid"}


@sample
def gelu_backward(make):
    for approximate in ("none", "tanh"):
        yield from ((pair, {"approximate": approximate}) for pair in _pairs(make))


@sample
def leaky_relu(make):
    yield from (((x,), {}) for x in _floats(make))
    yield (make(2, 3), 0.2), {}
    yield (make(2, 3), -1), {}


@sample
def leaky_relu_backward(make):
    yield from (((*pair, 0.1, False), {}) for pair in _pairs(make))
    yield (make(4), make(4), 0.1, True), {}


@sample
def elu(make):
    yield from (((x,), {}) for x in _floats(make))
    yield (make(2, 3), 0.5), {}
    yield (make(2, 3), 1.5, 0.5, 2), {}


@sample
def elu_backward(make):
    for is_result in (False, True):
        yield from (((grad, 1.5, 0.5, 2, is_result, x), {}) for grad, x in _pairs(make))


@sample
def celu(make):
    yield from (((x,), {}) for x in _floats(make))
    yield (make(2, 3), 0.5), {}
    yield (make(2, 3), 3), {}
    yield (make(2, 3), 0), {}


@sample
def glu(make):
    shapes = (((4, 3), 0), ((2, 4), 1), ((2, 2, 3), -2), ((0, 4), 1), ((3, 0), -1), ((2, 3), 1), ((), 0), ((2,), 4))
    for shape, dim in shapes:
        yield (make(*shape), dim), {}
    yield (make(2, 6),), {}


@sample
def glu_backward(make):
    shapes = (((2, 3), (4, 3), 0), ((2, 2), (2, 4), 1), ((2, 1, 3), (2, 2, 3), -2), ((0, 2), (0, 4), 1))
    yield from (((make(*grad), make(*shape), dim), {}) for grad, shape, dim in shapes)


def _weights(make):
    """What prelu gives its kernel: numbers that go by self's second dimension, or one."""
    shapes = (((2, 3), (3,)), ((2, 3, 2), (3, 1)), ((2, 2, 1, 2), (2, 1, 1)), ((4,), (1,)), ((), ()), ((2, 3), ()),
              ((0, 3), (3,)))
    yield from ((make(*shape), make(*weight)) for shape, weight in shapes)


@sample
def prelu_kernel(make):
    yield from ((pair, {}) for pair in _weights(make))


@sample
def prelu_kernel_backward(make):
    yield from (((make(*x.shape), x, weight), {}) for x, weight in _weights(make))


@sample
def log_sigmoid_backward(make):
    """The buffer is what torch's forward operator keeps."""
    for grad, x in _pairs(make):
        kept = tuple(math.exp(-abs(value)) for value in x.values)
        yield (grad, x, Description(x.shape, kept, make.dtype)), {}


@sample
def hardtanh(make):
    yield from (((x,), {}) for x in _floats(make))
    yield (make(2, 3), 0, 2), {}
    yield (make(2, 3), -1.5, 0.5), {}


@sample
def hardtanh_backward(make):
    yield from (((*pair, -1.5, 1), {}) for pair in _pairs(make))


@sample
def softplus(make):
    yield from (((x,), {}) for x in _floats(make))
    yield (make(2, 3), 2), {}
    yield (make(2, 3), 0.5, 1), {}


@sample
def softplus_backward(make):
    yield from (((*pair, 2, 3), {}) for pair in _pairs(make))


@sample
def hardshrink(make):
    yield from (((x,), {}) for x in _floats(make))
    yield (make(2, 3), 2), {}


@sample
def softshrink(make):
    yield from hardshrink(make)
    yield (make(2, 3), -1), {}


@sample
def hardshrink_backward(make):
    yield from (((*pair, 1.5), {}) for pair in _pairs(make))


@sample
def threshold(make):
    yield from (((x, 1, 5), {}) for x in _floats(make))
    yield (make(2, 3), 0.5, 1.5), {}


@sample
def threshold_backward(make):
    yield from (((*pair, 0.5), {}) for pair in _pairs(make))


@sample
def softmax_backward(make):
    for shape, dim in (((2, 3), 1), ((2, 3), 0), ((2, 3, 4), -2), ((), 0), ((0, 3), 1)):
        yield (make(*shape), make(*shape), dim), {"input_dtype": make.dtype}


def _classes(make, count, classes):
    return make(count, low=0, high=classes - 1, dtype="int64")


@sample
def nll_loss(make):
    for reduction in (0, 1, 2):
        yield (make(4, 3), _classes(make, 4, 3), None, reduction, -100), {}
        yield (make(4, 3), _classes(make, 4, 3), make(3, low=0.5), reduction, 1), {}
        if reduction:                   # without, the total weight of one sample means nothing
            yield (make(3), make(low=0, high=2, dtype="int64"), None, reduction, -100), {}
        yield (make(0, 3), _classes(make, 0, 3), None, reduction, -100), {}
    yield (make(4, 3), _classes(make, 3, 3), None, 1, -100), {}
    yield (make(4, 3), _classes(make, 4, 3), make(2), 1, -100), {}
    yield (make(4, 3), make(4, dtype="float32"), None, 1, -100), {}
    yield (make(4, 3, 2), _classes(make, 4, 3), None, 1, -100), {}


@sample
def nll_loss_backward(make):
    for reduction in (0, 1, 2):
        grad = make(4) if reduction == 0 else make()
        yield (grad, make(4, 3), _classes(make, 4, 3), None, reduction, -100, make(low=4, high=4)), {}
        classes, weight = _classes(make, 4, 3), make(3, low=0.5)
        total = sum(weight.values[c] for c in classes.values if c != 1)
        yield (grad, make(4, 3), classes, weight, reduction, 1, Description((), (total,), make.dtype)), {}


@sample
def embedding(make):
    for shape in ((4,), (2, 3), (), (0,)):
        yield (make(5, 3), make(*shape, low=0, high=4, dtype="int64")), {}
    yield (make(5, 3), make(4, low=0, high=4, dtype="int32")), {}
    yield (make(5, 3), make(4, dtype="float32")), {}
    yield (make(5), make(4, low=0, high=4, dtype="int64")), {}


@sample
def embedding_backward(make):
    for by_frequency in (False, True) if make.dtype in FLOATING else (False,):
        for padding in (-1, 2):
            indices = make(2, 4, low=0, high=4, dtype="int64")
            yield (make(2, 4, 3), indices, 5, padding, by_frequency), {}


@sample
def dropout(make):
    """Masks of one bit an element, in units of 16 bytes."""
    for shape in ((2, 3), (), (0, 3), (13, 11)):
        mask = make((math.prod(shape) + 127) // 128 * 16, low=0, high=255, dtype="uint8")
        yield (make(*shape), mask, 0.25), {}


def _attention(make):
    """(query, key, value, hidden, drop), of heads that share keys, with and without masks."""
    hidden = make(3, 5, dtype="bool")
    for shapes in (((1, 2, 3, 4), (1, 2, 5, 4)), ((2, 4, 3, 2), (2, 2, 5, 2))):
        for masks in ((None, None), (hidden, None), (None, make(16, low=0, high=255, dtype="uint8"))):
            query, key = (make(*shape, low=-2, high=2) for shape in shapes)
            yield query, key, make(*shapes[1], low=-2, high=2), *masks


@sample
def fused_attention(make):
    yield from (((*each, 0.5, 1.0 if each[-1] is None else 0.75, 2 ** 31 - 1), {}) for each in _attention(make))


@sample
def fused_attention_backward(make):
    for query, *rest, drop in _attention(make):
        statistics = [make(*query.shape[:3], 8, low=1, high=2, dtype="float32") for _ in range(2)]
        keep = 1.0 if drop is None else 0.75
        yield (make(*query.shape), query, *rest, drop, *statistics, make(*query.shape), 0.5, keep, 2 ** 31 - 1), {}


def _paths(make):
    """(log_probs, targets, input_lengths, target_lengths): torch writes nothing behind the ends of shorter ones, and
    reads flat targets wrongly where they are strided."""
    for batch, labels in ((2, (1, 2, 2)), (1, (2,))):
        targets = Description((batch, len(labels)), labels * batch, "int64", expandable=False)
        logs = replace(make(6, batch, 3, low=-3, high=0), expandable=False)
        yield logs, targets, [6] * batch, [len(labels)] * batch


@sample
def ctc_loss(make):
    yield from ((each, {}) for each in _paths(make))
    yield (*next(_paths(make)), 1), {"zero_infinity": True}


@sample
def ctc_loss_backward(make):
    """The scores are what the forward pass gives, in float64; other dtypes take them rounded."""
    import torch
    for log_probs, targets, input_lengths, target_lengths in _paths(make):
        if make.dtype not in FLOATING:
            continue
        given = [torch.tensor(d.values, dtype=torch.float64).reshape(d.shape) for d in (log_probs, targets)]
        results = torch.ops.aten._ctc_loss(given[0], given[1].long(), input_lengths, target_lengths)
        loss, scores = (Description(tuple(r.shape), tuple(r.flatten().tolist()), make.dtype, expandable=False)
                        for r in results)
        yield (make(loss.shape[0]), log_probs, targets, input_lengths, target_lengths, loss, scores, 0), {}


@sample
def unscale(make):
    for shape in ((2, 3), (), (0, 3)):
        yield (make(*shape), make(1, dtype="float32"), make(dtype="float32")), {}


@sample
def amp_update_scale(make):
    """A step with infinities; steps without; the last before the scale grows; a scale that cannot grow."""
    for found, steps, scale in ((1.0, 3, 4.0), (0.0, 0, 4.0), (0.0, 3, 4.0), (0.0, 3, 3e38), (2.0, 0, 0.5)):
        yield (Description((), (scale,), make.dtype), Description((), (steps,), "int32"),
               Description((1,), (found,), "float32"), 2.0, 0.5, 4), {}


@sample
def lstm_cell(make):
    if make.dtype in FLOATING:
        yield (make(2, 12), make(2, 12), make(2, 3)), {}
        yield (make(2, 12), make(2, 12), make(2, 3), make(12), make(12)), {}


@sample
def lstm_cell_backward(make):
    for has_bias in (True, False) if make.dtype in FLOATING else ():
        yield (make(2, 3), make(2, 3), make(2, 3), make(2, 3), make(2, 12, low=0.1, high=0.9), has_bias), {}
        yield (None, make(2, 3), make(2, 3), make(2, 3), make(2, 12, low=0.1, high=0.9), has_bias), {}


@sample
def fake_quantize_per_channel(make):
    scale, zero_point = make(3, low=0.1, high=1, dtype="float32"), make(3, dtype="int32")
    for shape, axis in (((2, 3, 4), 1), ((3,), 0), ((2, 3), -1), ((0, 3), 1), ((2, 3), 2), ((), 0)):
        yield (make(*shape), scale, zero_point, axis, -8, 7), {}
    yield (make(2, 3), make(3, dtype="float64"), zero_point, 1, 0, 15), {}
    yield (make(2, 3), scale, make(3, dtype="int64"), 1, 0, 15), {}
    yield (make(2, 3), make(1, 3, dtype="float32"), zero_point, 1, 0, 15), {}
    yield (make(2, 3), scale, make(1, 3, dtype="int32"), 1, 0, 15), {}
    yield (make(2, 3), scale, make(2, dtype="int32"), 1, 0, 15), {}
    yield (make(2, 3), scale, zero_point, 0, 0, 15), {}
    yield (make(2, 3), scale, zero_point, 1, 15, 0), {}
