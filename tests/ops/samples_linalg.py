"""Samples of matrix products, linear algebra and Fourier transforms; see samples.py."""
from dataclasses import replace

from samples import COMPLEX, sample


def _well(make, *shape):
    """Square matrices far from singular: large on the diagonal."""
    made = make(*shape, low=-1, high=1)
    size = shape[-1]
    values = [value if make.dtype == "bool" else value + 4 * (place % (size * size) // size == place % size)
              for place, value in enumerate(made.values)]
    return replace(made, values=tuple(values), expandable=False)


def _fixed(make, *shape):
    """What an in-place form writes to, or what must not have equal rows."""
    return replace(make(*shape), expandable=False)


def _symmetric(make, *shape):
    """The same, and equal to their conjugate transpose: positive definite as well."""
    made = _well(make, *shape)
    size = shape[-1]
    values = list(made.values)
    for place in range(len(values)):
        block, row, column = place // (size * size), place // size % size, place % size
        mirror = values[block * size * size + column * size + row]
        if row > column:
            values[place] = mirror.conjugate() if make.dtype in COMPLEX else mirror
        elif row == column and make.dtype in COMPLEX:
            values[place] = complex(values[place].real, 0)
    return replace(made, values=tuple(values))


# --- products --------------------------------------------------------------------------------------------------------

@sample
def baddbmm(make):
    for shape in ((2, 3, 5), (3, 5), (5,), (2, 1, 5), ()):
        yield (_fixed(make, *shape), make(2, 3, 4), make(2, 4, 5)), {}
    yield (_fixed(make, 2, 3, 5), make(2, 3, 4), make(2, 4, 5)), {"beta": 2, "alpha": 3}
    yield (_fixed(make, 2, 3, 5), make(2, 3, 4), make(2, 4, 5)), {"beta": 0}
    yield (_fixed(make, 0, 3, 5), make(0, 3, 4), make(0, 4, 5)), {}
    yield (make(2, 3), make(2, 3, 4), make(2, 4, 5)), {}
    yield (_fixed(make, 2, 3, 5), make(2, 3, 4), make(3, 4, 5)), {}


@sample
def addbmm(make):
    """The in-place form resizes a smaller self in torch; test_linalg.py has such without it."""
    yield (_fixed(make, 3, 5), make(2, 3, 4), make(2, 4, 5)), {}
    yield (_fixed(make, 3, 5), make(2, 3, 4), make(2, 4, 5)), {"beta": 2, "alpha": 3}
    yield (_fixed(make, 3, 5), make(2, 3, 4), make(2, 4, 5)), {"beta": 0}
    yield (make(2, 3), make(2, 3, 4), make(2, 4, 5)), {}


@sample
def addmv(make):
    for shape in ((2,), (1,), ()):
        yield (_fixed(make, *shape), make(2, 3), make(3)), {}
    yield (_fixed(make, 2), make(2, 3), make(3)), {"beta": 2, "alpha": 3}
    yield (_fixed(make, 2), make(2, 3), make(3)), {"beta": 0}
    yield (_fixed(make, 3), make(2, 3), make(3)), {}
    yield (_fixed(make, 2), make(2, 3), make(2)), {}


@sample
def addr(make):
    for shape in ((2, 3), (3,), (2, 1), ()):
        yield (_fixed(make, *shape), make(2), make(3)), {}
    yield (_fixed(make, 2, 3), make(2), make(3)), {"beta": 2, "alpha": 3}
    yield (_fixed(make, 2, 3), make(2), make(3)), {"beta": 0}
    yield (_fixed(make, 3, 2), make(2), make(3)), {}
    yield (_fixed(make, 2, 3), make(2, 1), make(3)), {}


@sample
def outer(make):
    yield (make(2), make(3)), {}
    yield (make(0), make(3)), {}
    yield (make(2), make(3, dtype="float32")), {}
    yield (make(2, 2), make(3)), {}


@sample
def cross(make):
    yield (make(2, 3), make(2, 3)), {}
    yield (make(3, 4), make(3, 4)), {"dim": 0}
    yield (make(1, 3), make(4, 3)), {}
    yield (make(0, 3), make(0, 3)), {}
    yield (make(2, 2), make(2, 2)), {}
    yield (make(3), make(2, 3)), {}


@sample
def vector_norm(make):
    for order in (2, 1, 0, 3, 0.5, -1, float("inf"), float("-inf")):
        yield (make(2, 3, nonzero=True), order), {}
        yield (make(2, 3, 4, nonzero=True), order, 1), {}
    yield (make(2, 3, 4), 2, (0, 2), True), {}
    yield (make(),), {}
    yield (make(0, 3), 2, 1), {}
    yield (make(8, special=True),), {}


# --- linear algebra --------------------------------------------------------------------------------------------------

@sample
def invertible(make):
    yield from (((_well(make, *shape),), {}) for shape in ((3, 3), (2, 3, 3), (1, 1)))
    yield (make(2, 3),), {}
    yield (make(3),), {}


@sample
def eig(make):
    """Eigenvectors are unique but for a factor."""
    yield (_well(make, 1, 1),), {}
    yield (make(2, 3),), {}


@sample
def matrix(make):
    """Of full rank: otherwise the reflections are those of rounding errors."""
    yield from (((_fixed(make, *shape),), {}) for shape in ((3, 3), (2, 4, 3), (2, 3), (1, 1), (3,)))


@sample
def qr(make):
    for mode in ("reduced", "complete", "r"):
        yield from (((_fixed(make, *shape), mode), {}) for shape in ((3, 3), (2, 4, 3), (2, 3)))
    yield (make(2, 3), "raw"), {}
    yield (make(3),), {}


@sample
def positive_definite(make):
    for shape in ((3, 3), (2, 3, 3), (1, 1)):
        yield (_symmetric(make, *shape),), {}
        yield (_symmetric(make, *shape),), {"upper": True}
    yield (make(2, 3),), {}


@sample
def cholesky_solve(make):
    yield (make(3, 2), _well(make, 3, 3)), {}
    yield (make(3, 2), _well(make, 3, 3), True), {}
    for shapes in (((2, 3, 2), (3, 3)), ((3, 2), (2, 3, 3)), ((2, 3, 1), (2, 3, 3)), ((0, 2), (0, 0))):
        yield (make(*shapes[0]), _well(make, *shapes[1])), {}
    yield (make(2, 2), _well(make, 3, 3)), {}
    yield (make(3), _well(make, 3, 3)), {}
    yield (make(3, 2), make(2, 3)), {}


@sample
def hermitian(make):
    yield from (((_symmetric(make, *shape),), {}) for shape in ((1, 1), (2, 1, 1)))
    yield (make(2, 3),), {}
    yield (_symmetric(make, 2, 2), "X"), {}


@sample
def svd(make):
    """Singular vectors are unique but for their signs, so that only values are compared here."""
    yield (make(3, 2), False, False), {}
    yield (make(2, 2, 3), False, False), {}
    yield (make(3),), {}


@sample
def svd_vectors(make):
    """For gradients: vectors keep their signs under small differences."""
    yield (make(3, 2), False, True), {}
    yield (make(2, 2, 3),), {}


@sample
def solve(make):
    yield (_well(make, 3, 3), make(3, 2)), {}
    yield (_well(make, 3, 3), make(3)), {}
    yield (_well(make, 2, 3, 3), make(2, 3, 2)), {}
    yield (_well(make, 2, 3, 3), make(2, 3)), {}
    yield (_well(make, 2, 3, 3), make(3, 2)), {}
    yield (_well(make, 3, 3), make(2, 3)), {"left": False}
    yield (_well(make, 3, 3), make(2, 2)), {}
    yield (make(2, 3), make(2, 2)), {}


@sample
def triangular_solve(make):
    for upper in (True, False):
        for transpose in (True, False):
            yield (make(3, 2), _well(make, 3, 3), upper, transpose), {}
    yield (make(3, 2), make(3, 3, low=-1, high=1), True, False, True), {}
    yield (make(3, 2), _well(make, 2, 3, 3)), {}
    yield (make(2, 3, 2), _well(make, 3, 3)), {}
    yield (make(2, 2), _well(make, 3, 3)), {}
    yield (make(3), _well(make, 3, 3)), {}


@sample
def lu_factor(make):
    yield from (((make(*shape),), {}) for shape in ((3, 3), (2, 4, 3), (2, 3), (3,)))
    yield (_well(make, 3, 3),), {"pivot": False}


def _indefinite(make, *shape):
    """Symmetric and Hermitian, of real numbers; larger off the diagonal than on it."""
    made, size = _symmetric(make, *shape), shape[-1]
    values = [value - 4 * (place % (size * size) // size == place % size) if make.dtype in COMPLEX else value
              for place, value in enumerate(made.values)]
    return replace(made, values=tuple(values))


@sample
def ldl_factor(make):
    for hermitian in (False, True):
        for matrix in (_symmetric(make, 3, 3), _indefinite(make, 2, 4, 4), _fixed(make, 5, 5)):
            yield (matrix,), {"hermitian": hermitian}
    yield from (((make(*shape),), {}) for shape in ((2, 3), (3,)))


@sample
def ldl_solve(make):
    pivots = replace(make(4, dtype="int32"), values=(1, -4, -4, 4))
    for right in (make(4, 2), make(3, 4, 1)):
        yield (_well(make, 4, 4), pivots, right), {}
    yield (_symmetric(make, 4, 4), pivots, make(4, 2)), {"hermitian": True}
    yield (_well(make, 4, 4), pivots, make(3, 2)), {}
    yield (_well(make, 3, 3), pivots, make(3, 2)), {}


@sample
def lu_unpack(make):
    for shape in ((3, 3), (2, 4, 3), (2, 3)):
        batch, count = shape[:-2], min(shape[-2:])
        pivots = replace(make(*batch, count, dtype="int32"), values=tuple(
            place % count + 1 + (place % count < count - 1) for place in range(count * (batch[0] if batch else 1))))
        yield (make(*shape), pivots), {}
        yield (make(*shape), pivots), {"unpack_pivots": False}


# --- Fourier transforms ----------------------------------------------------------------------------------------------

@sample
def fft_complex(make):
    for mode in range(3):
        yield (make(4, 3), [0, 1], mode, True), {}
        yield (make(2, 5), [1], mode, False), {}
    yield (make(4), [0], 0, True), {}


@sample
def fft_real(make):
    for mode in range(3):
        yield (make(4, 3), [0, 1], mode, True), {}
        yield (make(4, 4), [0, 1], mode, False), {}


@sample
def fft_half(make):
    for mode in range(3):
        yield (make(4, 3), [1], mode, 4), {}
        yield (make(4, 3), [0, 1], mode, 5), {}
