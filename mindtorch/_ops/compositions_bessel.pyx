"""Formulas of Bessel functions: integrals as sums over a table, and series of sines. See compositions.py; the numbers
are those of tables_special.py.
"""
from functools import partial

from libc.float cimport DBL_MAX, DBL_MIN, FLT_MAX, FLT_MIN

from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport Space, columns, fits, space_for, total, upright
from mindtorch._core.tensor cimport TensorBase

from mindtorch._ops import tables_special as tables
from mindtorch._ops.compositions_tables import in_pieces

cdef list WEIGHTS_OF_J = tables.WEIGHTS_OF_J, HANKEL = tables.HANKEL
cdef list SLOPES = tables.SLOPES, SHIFTS = tables.SHIFTS
cdef list MEANS_OF_I = tables.MEANS_OF_I, SINES_OF_I = tables.SINES_OF_I
cdef tuple ODD_OF_I = tables.ODD_OF_I, COSINES_OF_I = tables.COSINES_OF_I, POWERS = tables.POWERS, NEAR = tables.NEAR
cdef tuple HALF_SQUARES = tables.HALF_SQUARES, WEIGHTS_OF_K0 = tables.WEIGHTS_OF_K0
cdef tuple FAR_OF_K1 = tables.FAR_OF_K1, NEAR_OF_K1 = tables.NEAR_OF_K1
cdef tuple REST_OF_Y0 = tables.REST_OF_Y0, LOG_OF_Y0 = tables.LOG_OF_Y0
cdef tuple X_OF_Y1 = tables.X_OF_Y1, LOG_OF_Y1 = tables.LOG_OF_Y1, ONE_OF_Y1 = tables.ONE_OF_Y1


# --- modified Bessel functions ---------------------------------------------------------------------------------------

def bessel_i(int order, TensorBase x, TensorBase out):
    """I_order(x): a mean of hyperbolic cosines, for order 1 times x."""
    cosines = numbers(COSINES_OF_I, x)
    if not fits(out, cosines.numel):
        return in_pieces(cosines.numel, partial(bessel_i, order), out, x)
    table = space_for(x, cosines.numel).table(cosines)
    run.cosh(run.mul_Tensor(upright(x), cosines, table), table)
    total(run.mul_Tensor(table, numbers(MEANS_OF_I[order], x), table), out)
    return run.mul_Tensor(out, x, out) if order else out


def scaled_bessel_i(int order, TensorBase x, TensorBase out):
    """exp(-|x|) I_order(x)."""
    odd = numbers(ODD_OF_I, x)
    if not fits(out, odd.numel):
        return in_pieces(odd.numel, partial(scaled_bessel_i, order), out, x)
    space = space_for(x, order + odd.numel)
    run.atan(run.rsqrt(run.abs(x, out), out), out)          # the angle
    table = run.mul_Tensor(upright(out), odd, space.table(odd))
    run.sin(table, table)
    total(run.mul_Tensor(table, numbers(SINES_OF_I[order], x), table), out)
    return run.mul_Tensor(out, run.atan(x, space.room()), out) if order else out


def bessel_k0(bint scaled, TensorBase x, TensorBase out):
    """K_0(x), or exp(x) K_0(x)."""
    squares = numbers(HALF_SQUARES, x)
    if not fits(out, squares.numel):
        return in_pieces(squares.numel, partial(bessel_k0, scaled), out, x)
    space = space_for(x, 1 + squares.numel)
    table = run.add_Tensor(upright(x), squares, 1, space.table(squares))
    run.rsqrt(table, table)
    total(run.mul_Tensor(table, numbers(WEIGHTS_OF_K0, x), table), out)
    return out if scaled else run.div_Tensor(out, run.exp(x, space.room()), out)


def bessel_k1(bint scaled, TensorBase x, TensorBase out):
    """K_1(x), or exp(x) K_1(x)."""
    far = numbers(FAR_OF_K1, x)
    if not fits(out, far.numel):
        return in_pieces(far.numel, partial(bessel_k1, scaled), out, x)
    space = space_for(x, 1 + far.numel)
    table, other = space.table(far), space.room()
    run.rsqrt(run.add_Scalar(x, 0, 1, out), other)          # -0 has become 0
    run.addcdiv(far, numbers(NEAR_OF_K1, x), upright(out), 1, table)
    total(run.sqrt(table, table), out)
    run.mul_Tensor(out, other, out)
    return out if scaled else run.div_Tensor(out, run.exp(x, other), out)


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
