"""Samples of functions of numbers. samples.py says what a sample is."""
from samples import FLOATING, INTEGRAL, _pairs, _shapes, sample


@sample
def unary_unit(make):
    """Where the inverse trigonometric functions are defined, and the points beside."""
    yield from (((make(*shape, low=-0.9, high=0.9),), {}) for shape in _shapes())
    yield (make(8, special=True),), {}


@sample
def unary_above_one(make):
    yield from (((make(*shape, low=1.1, high=9),), {}) for shape in _shapes())
    yield (make(8, special=True),), {}


@sample
def unary_finite(make):
    yield from (((make(*shape),), {}) for shape in _shapes())


@sample
def round_decimals(make):
    yield from (((make(2, 3, low=-90, high=90),), {"decimals": n}) for n in (0, 1, 2, -1))


@sample
def nan_to_num(make):
    yield (make(8, special=True),), {}
    yield (make(8, special=True), 1.5), {}
    yield (make(8, special=True),), {"nan": 1, "posinf": 7.5, "neginf": -2}
    yield (make(), 2.0), {}
    yield (make(0, 2),), {}


@sample
def number_positive(make):
    yield from (((make(2, 3), n), {}) for n in (2, 1.5, True, 0.5))
    yield (make(8, special=True), 3), {}
    yield (make(), 3), {}


@sample
def number_first_positive(make):
    yield from (((n, make(2, 3, low=0.5, nonzero=True)), {}) for n in (2, 1.5, 0, True))
    yield (3, make(low=1, nonzero=True)), {}


@sample
def heaviside(make):
    yield from (((make(*a), make(*b)), {}) for a, b in _pairs())
    yield (make(4, low=0, high=0), make(4)), {}


@sample
def lerp(make):
    for shapes in (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (1,)), ((2, 3), (2, 1), ()), ((), (), ()),
                   ((0, 3), (3,), (3,))):
        yield tuple(make(*shape) for shape in shapes), {}
    yield (make(3), make(3, dtype="float64"), make(3)), {}


@sample
def lerp_number(make):
    yield from (((make(2, 3), make(3), n), {}) for n in (0, 0.25, 0.5, 2, -1.5))
    yield (make(), make(), 0.5), {}


@sample
def addcmul(make):
    for shapes in (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((2, 3), (), (1,)), ((), (), ()),
                   ((0, 3), (3,), (3,))):
        yield tuple(make(*shape) for shape in shapes), {}
        yield tuple(make(*shape) for shape in shapes), {"value": 2}
    yield (make(2), make(2), make(2)), {"value": 0.5}


@sample
def addcdiv(make):
    for self, first, second in (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((), (), ()), ((0, 3), (3,), (3,))):
        yield (make(*self), make(*first), make(*second, nonzero=True)), {}
        yield (make(*self), make(*first), make(*second, nonzero=True)), {"value": -0.5}


@sample
def shift(make):
    counts = {"low": 0, "high": 6} if make.dtype in (*INTEGRAL, *FLOATING) else {}
    yield from (((make(*a), make(*b, **counts)), {}) for a, b in _pairs())
    yield from (((make(2, 3), n), {}) for n in (0, 3, True))
    yield (2, make(3, **counts)), {}
    yield (make(3), 100), {}


@sample
def shift_number(make):
    yield from (((make(2, 3), n), {}) for n in (0, 3, True, 100, -1, 300, 1.5))
    yield (make(), 2), {}


@sample
def polygamma(make):
    yield from (((n, make(2, 3, low=0.5, high=9)), {}) for n in (0, 1, 2, 5))
    yield (1, make(low=0.5)), {}
    yield (1, make(0, 2)), {}
    yield (-1, make(2)), {}


@sample
def logit(make):
    yield from (((make(*shape, low=0.05, high=0.95),), {}) for shape in _shapes())
    yield (make(8, low=0, high=1, special=True),), {}
    yield (make(2, 3, low=-0.5, high=1.5), 0.1), {}


@sample
def logit_backward(make):
    for shape in _shapes():
        yield (make(*shape), make(*shape, low=0.05, high=0.95)), {}
    for eps in (0.1, None, -1.0):
        yield (make(2, 3), make(2, 3, low=-0.5, high=1.5), eps), {}


@sample
def binary_positive(make):
    yield from (((make(*a, low=0.1, high=9), make(*b, low=0.1, high=9)), {}) for a, b in _pairs())
    yield (make(8, special=True), make(8)), {}
    yield (make(8), make(8, special=True)), {}


@sample
def zeta(make):
    yield from (((make(*a, low=1.1, high=9), make(*b, low=0.1, high=9)), {}) for a, b in _pairs())
    yield from (((make(3, low=1.1, high=9), n), {}) for n in (2, 1.5))
    yield (2.5, make(3, low=0.1, high=9)), {}


@sample
def unary_probability(make):
    yield from (((make(*shape, low=0, high=1),), {}) for shape in _shapes())
    yield (make(8, special=True),), {}


@sample
def polynomial(make):
    yield from (((make(*a, low=-2, high=2), make(*b, low=-1, high=6)), {}) for a, b in _pairs())
    yield from (((make(4, low=-2, high=2), n), {}) for n in (0, 1, 2, 5))
    yield (0.5, make(4, low=0, high=9)), {}


@sample
def parts(make):
    yield from (((make(*a), make(*b)), {}) for a, b in _pairs())
    yield (make(8, special=True), make(8)), {}
    yield (make(3), make(3, dtype="float64")), {}


@sample
def polar(make):
    """Lengths are not negative."""
    yield from (((make(*a, low=0.1), make(*b)), {}) for a, b in _pairs())
    yield (make(8, special=True), make(8)), {}
    yield (make(3, low=0.1), make(3, dtype="float64")), {}


@sample
def unary_near(make):
    """Where torch's own values are exact to float64; test_special.py looks at the rest."""
    yield from (((make(*shape, low=-1.5, high=3),), {}) for shape in _shapes())
    yield (make(8, low=-1.5, high=3, special=True),), {}


@sample
def unary_near_above(make):
    yield from (((make(*shape, low=0.1, high=2.5),), {}) for shape in _shapes())
    yield (make(8, low=0.1, high=2.5, special=True),), {}
