"""Formulas of Bessel functions: integrals as sums over a table, and series of sines. See compositions.py; the numbers
are those of tables_special.py.
"""
from functools import partial

from libc.float cimport DBL_MAX, DBL_MIN, FLT_MAX, FLT_MIN

from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport Space, columns, first_of, fits, space_for, total, upright
from mindtorch._core.tensor cimport TensorBase

from mindtorch._ops import tables_special as tables
from mindtorch._ops.compositions_tables import in_pieces

cdef list SINES_OF_I = tables.SINES_OF_I, WEIGHTS_OF_J = tables.WEIGHTS_OF_J, HANKEL = tables.HANKEL
cdef list SLOPES = tables.SLOPES, SHIFTS = tables.SHIFTS
cdef tuple ODD_OF_I = tables.ODD_OF_I, HALF_SQUARES = tables.HALF_SQUARES, POWERS = tables.POWERS
cdef tuple WEIGHTS_OF_K = tables.WEIGHTS_OF_K, MORE_OF_K1 = tables.MORE_OF_K1, NEAR = tables.NEAR
cdef tuple REST_OF_Y0 = tables.REST_OF_Y0, LOG_OF_Y0 = tables.LOG_OF_Y0
cdef tuple X_OF_Y1 = tables.X_OF_Y1, LOG_OF_Y1 = tables.LOG_OF_Y1, ONE_OF_Y1 = tables.ONE_OF_Y1


# --- modified Bessel functions ---------------------------------------------------------------------------------------

cdef TensorBase sines_of(TensorBase size, TensorBase odd, Space space):
    angle = space.room()
    run.atan(run.rsqrt(size, angle), angle)
    table = run.mul_Tensor(upright(angle), odd, space.table(odd))
    return run.sin(table, table)


def bessel_i(int order, bint scaled, TensorBase x, TensorBase out):
    """I_order(x), or exp(-|x|) I_order(x)."""
    odd = numbers(ODD_OF_I, x)
    if not fits(out, odd.numel):
        return in_pieces(odd.numel, partial(bessel_i, order, scaled), out, x)
    space = space_for(x, 3 + odd.numel)
    size = run.abs(x, space.room())
    table = sines_of(size, odd, space)
    run.mul_Tensor(table, numbers(SINES_OF_I[order], x), table)
    total(table, out)
    if order:
        run.mul_Tensor(out, run.atan(x, space.room()), out)
    return out if scaled else run.mul_Tensor(out, run.exp(size, size), out)


def bessel_k(int order, bint scaled, TensorBase x, TensorBase out):
    """K_order(x), or exp(x) K_order(x)."""
    squares, weights = numbers(HALF_SQUARES, x), numbers(WEIGHTS_OF_K, x)
    if not fits(out, squares.numel):
        return in_pieces(squares.numel, partial(bessel_k, order, scaled), out, x)
    space = space_for(x, 2 + (1 + order) * squares.numel)
    table = run.add_Tensor(upright(x), squares, 1, space.table(squares))
    run.rsqrt(table, table)
    if order:               # the first number of each row is 1 / sqrt(x)
        first = first_of(table)
        inverse = upright(run.mul_Tensor(first, first, space.room()))
        weights = run.addcmul(weights, inverse, numbers(MORE_OF_K1, x), 1, space.table(squares))
    run.mul_Tensor(table, weights, table)
    total(table, out)
    return out if scaled else run.div_Tensor(out, run.exp(x, space.room()), out)


# --- Bessel functions ------------------------------------------------------------------------------------------------

cdef TensorBase waves(int order, int kind, TensorBase x, Space space):
    """A table of cosines for order 0, of sines for order 1."""
    slopes = numbers(SLOPES[kind], x)
    table = run.addcmul(numbers(SHIFTS[kind], x), upright(x), slopes, 1, space.table(slopes))
    return run.sin(table, table) if order else run.cos(table, table)


cdef TensorBase far_sum(TensorBase x, TensorBase far, TensorBase weights, Space space):
    """J or Y of large x, by the last columns of a table."""
    powers = numbers(POWERS, x)
    falling = run.pow_Tensor_Tensor(upright(x), powers, space.table(powers))
    run.mul_Tensor(falling, far, falling)
    if weights is not None:
        run.mul_Tensor(falling, weights, falling)
    result = space.room()
    total(falling, result)
    return result


cdef TensorBase joined(TensorBase x, TensorBase far, Space space, TensorBase out):
    """What `out` has for small x, `far` for others."""
    near = run.lt_Scalar(x, NEAR[1 if x.dtype == Double else 0], space.truth())
    return run.where_self(near, out, far, out)


def bessel_j(int order, TensorBase x, TensorBase out):
    weights, powers = numbers(WEIGHTS_OF_J[order], x), numbers(POWERS, x)
    width, small = weights.numel, weights.numel - powers.numel
    if not fits(out, width):
        return in_pieces(width, partial(bessel_j, order), out, x)
    space = space_for(x, 3 + width + powers.numel)
    size = run.abs(x, space.room())
    table = waves(order, order, size, space)
    run.mul_Tensor(table, weights, table)
    total(columns(table, 0, small), out)
    joined(size, far_sum(size, columns(table, small, powers.numel), None, space), space, out)
    return run.mul_Tensor(out, run.sign(x, size), out) if order else out


def bessel_y(int order, TensorBase x, TensorBase out):
    slopes, powers = numbers(SLOPES[2 + order], x), numbers(POWERS, x)
    width, small = slopes.numel, slopes.numel - powers.numel
    if not fits(out, width):
        return in_pieces(width, partial(bessel_y, order), out, x)
    space = space_for(x, 4 + 2 * width)
    table = waves(order, 2 + order, x, space)
    if order:
        logarithm = upright(run.xlogy_Tensor(x, x, space.room()))
        one = numbers(ONE_OF_Y1, x)
        weights = run.addcmul(one, logarithm, numbers(LOG_OF_Y1, x), 1, space.table(one))
        run.addcmul(weights, upright(x), numbers(X_OF_Y1, x), 1, weights)
    else:
        logarithm = upright(run.log(x, space.room()))
        rest = numbers(REST_OF_Y0, x)
        weights = run.addcmul(rest, logarithm, numbers(LOG_OF_Y0, x), 1, space.table(rest))
    total(run.mul_Tensor(weights, columns(table, 0, small), weights), out)
    far = far_sum(x, columns(table, small, powers.numel), numbers(HANKEL[order], x), space)
    if order:
        run.div_Tensor(out, run.abs(x, space.room()), out)
    return joined(x, far, space, out)


def spherical_bessel_j0(TensorBase x, TensorBase out):
    """sin(x) / x; of the nearest number where x is 0 or infinite."""
    size = space_for(x, 1).room()
    if x.dtype == Double:
        run.clamp(run.abs(x, size), DBL_MIN, DBL_MAX, size)
    else:
        run.clamp(run.abs(x, size), FLT_MIN, FLT_MAX, size)
    return run.div_Tensor(run.sin(size, out), size, out)
