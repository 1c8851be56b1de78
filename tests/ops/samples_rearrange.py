"""Samples of operators that move elements along dimensions; samples.py says what a sample is."""
from samples import Description, sample


def numbers(*values, shape=None, dtype="int64"):
    """How often each index is repeated: not to be replaced by others of another sum."""
    return Description(shape or (len(values),), values, dtype, expandable=False)


@sample
def flip(make):
    for dims in ((0,), (1,), (0, 1), (-1, 0), ()):
        yield (make(2, 3), dims), {}
    yield (make(2, 3, 4), (0, -1)), {}
    yield (make(), (0,)), {}
    yield (make(), ()), {}
    yield (make(0, 3), (1,)), {}
    yield (make(2, 3), (0, -2)), {}
    yield (make(2, 3), (2,)), {}
    yield (make(2, 3),), {"dims": (1,)}


@sample
def roll(make):
    for shifts, dims in ((1, 0), (-2, 1), (7, -1), ((1, 2), (0, 1)), ((1, 1), (0, 0)), (0, 1)):
        yield (make(2, 3), shifts, dims), {}
    yield (make(2, 3), 4), {}
    yield (make(2, 3), (-1,)), {}
    yield (make(), 1), {}
    yield (make(), 1, 0), {}
    yield (make(0, 3), 1, 0), {}
    yield (make(2, 3), (1, 2)), {}
    yield (make(2, 3), ()), {}
    yield (make(2, 3), 1, (0, 1)), {}
    yield (make(2, 3), 1, 2), {}


@sample
def repeat(make):
    for repeats in ((1, 2), (2, 1), (2, 3, 1), (0, 2), (1, 1)):
        yield (make(2, 3), repeats), {}
    yield (make(), ()), {}
    yield (make(), (3,)), {}
    yield (make(0, 3), (2, 2)), {}
    yield (make(2, 3), (2,)), {}
    yield (make(2, 3), (2, -1)), {}


@sample
def repeat_interleave_places(make):
    for dtype in ("int64", "int32"):
        yield (numbers(1, 0, 3, dtype=dtype),), {}
    yield (numbers(2, 1),), {"output_size": 3}
    yield (numbers(0, 0),), {}
    yield (numbers(shape=(0,)),), {}
    yield (numbers(2, shape=()),), {}
    yield (numbers(1, -2),), {}
    yield (make(2, low=0, dtype="float32"),), {}


@sample
def repeat_interleave(make):
    for dtype in ("int64", "int32"):
        yield (make(2, 3), numbers(2, 1, dtype=dtype), 0), {}
    yield (make(2, 3), numbers(0, 1, 2), -1), {}
    yield (make(2, 3), numbers(0, 1, 2, 1, 1, 0)), {}
    yield (make(2, 3), numbers(2)), {}
    yield (make(2, 3), numbers(2, shape=()), 1), {}
    yield (make(2, 3), numbers(1, 2), 0), {"output_size": 3}
    yield (make(), numbers(3)), {}
    yield (make(2, 3), numbers(0, 0), 0), {}
    yield (make(0, 3), numbers(shape=(0,)), 0), {}
    yield (make(), numbers(3), 0), {}
    yield (make(2, 3), numbers(1, 2), 1), {}
    yield (make(2, 3), numbers(1, 2, shape=(1, 2)), 1), {}
    yield (make(2, 3), numbers(1, 2, dtype="int16"), 0), {}


@sample
def repeat_interleave_int(make):
    yield (make(2, 3), 2), {}
    yield (make(2, 3), 2, 0), {}
    yield (make(2, 3), 3, -1), {}
    yield (make(2, 3), 0, 1), {}
    yield (make(2, 3), 2), {"dim": 1, "output_size": 6}
    yield (make(), 3), {}
    yield (make(0, 3), 2, 1), {}
    yield (make(2, 3), 2, 1), {"output_size": 5}
    yield (make(2, 3), -1), {}
    yield (make(2, 3), 2, 2), {}
    yield (make(), 3, 0), {}


@sample
def triangle(make):
    for diagonal in (0, 1, -1, 5, -5):
        yield (make(3, 4), diagonal), {}
        yield (make(4, 2), diagonal), {}
    yield (make(2, 3, 3),), {}
    yield (make(8, 8, special=True),), {"diagonal": -1}
    yield (make(0, 3),), {}
    yield (make(2, 0, 3),), {}
    yield (make(3),), {}
    yield (make(),), {}


@sample
def trace(make):
    for shape in ((3, 3), (2, 4), (4, 2), (1, 1), (0, 3), (0, 0)):
        yield (make(*shape),), {}
    yield (make(3),), {}
    yield (make(2, 2, 2),), {}


@sample
def unfold(make):
    for dim, size, step in ((0, 2, 1), (-1, 3, 2), (1, 1, 3), (1, 5, 1), (0, 4, 1), (1, 0, 1)):
        yield (make(4, 5), dim, size, step), {}
    yield (make(), 0, 1, 1), {}
    yield (make(4, 5), 0, 5, 1), {}
    yield (make(4, 5), 0, -1, 1), {}
    yield (make(4, 5), 0, 2, 0), {}
    yield (make(4, 5), 2, 2, 1), {}


@sample
def unfold_backward(make):
    yield (make(3, 5, 2), (4, 5), 0, 2, 1), {}
    yield (make(4, 2, 3), (4, 5), 1, 3, 2), {}
    yield (make(2, 2, 3, 1), (2, 4, 3), 1, 1, 3), {}
    yield (make(2, 3), (5,), 0, 3, 2), {}


@sample
def channel_shuffle(make):
    for shape, groups in (((2, 6, 3, 2), 2), ((2, 6, 3), 3), ((1, 4, 2, 2, 2), 4), ((0, 4, 2), 2), ((2, 4, 2), 3),
                          ((2, 4, 2), 0), ((4, 2), 2)):
        yield (make(*shape), groups), {}
