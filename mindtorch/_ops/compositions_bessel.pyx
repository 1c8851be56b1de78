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

cdef list SHIFTS = tables.SHIFTS, SLOPES = tables.SLOPES, POWERS = tables.POWERS, WEIGHTS = tables.WEIGHTS
cdef list MEANS_OF_I = tables.MEANS_OF_I, SINES_OF_I = tables.SINES_OF_I
cdef tuple ODD_OF_I = tables.ODD_OF_I, COSINES_OF_I = tables.COSINES_OF_I, EDGE = tables.EDGE
cdef tuple HALF_SQUARES = tables.HALF_SQUARES, WEIGHTS_OF_K0 = tables.WEIGHTS_OF_K0
cdef tuple FAR_OF_K0 = tables.FAR_OF_K0, NEAR_OF_K0 = tables.NEAR_OF_K0, SCALE_OF_K0 = tables.SCALE_OF_K0
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


def bessel_k0(TensorBase x, TensorBase out):
    """K_0(x)."""
    near = numbers(NEAR_OF_K0, x)
    if not fits(out, near.numel):
        return in_pieces(near.numel, bessel_k0, out, x)
    space = space_for(x, 1 + near.numel)
    table = space.table(near)
    run.addcmul(near, upright(x), numbers(FAR_OF_K0, x), SCALE_OF_K0[1 if x.dtype == Double else 0], table)
    total(run.rsqrt(table, table), out)
    return run.div_Tensor(out, run.exp(x, space.room()), out)


def scaled_bessel_k0(TensorBase x, TensorBase out):
    """exp(x) K_0(x)."""
    squares = numbers(HALF_SQUARES, x)
    if not fits(out, squares.numel):
        return in_pieces(squares.numel, scaled_bessel_k0, out, x)
    table = space_for(x, squares.numel).table(squares)
    run.rsqrt(run.add_Tensor(upright(x), squares, 1, table), table)
    total(run.mul_Tensor(table, numbers(WEIGHTS_OF_K0, x), table), out)
    return out


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

cdef enum Function:         # places in the tables
    J = 0                   # and the order
    Y = 2


cdef TensorBase waves(int function, TensorBase x, TensorBase size, Space space):
    """The columns for small and for large x: cosines that fall off with `size`."""
    shifts, powers = numbers(SHIFTS[function], x), numbers(POWERS[function], x)
    table = run.addcmul(shifts, upright(size), numbers(SLOPES[function], x), 1, space.table(shifts))
    run.cos(table, table)
    large = run.clamp(size, EDGE[1 if x.dtype == Double else 0], None, space.room())
    run.mul_Tensor(table, run.pow_Tensor_Tensor(upright(large), powers, space.table(powers)), table)
    return run.mul_Tensor(table, numbers(WEIGHTS[function], x), table)


def bessel_j(int order, TensorBase x, TensorBase out):
    width = numbers(WEIGHTS[J + order], x).numel
    if not fits(out, width):
        return in_pieces(width, partial(bessel_j, order), out, x)
    table = waves(J + order, x, run.abs(x, out), space_for(x, 1 + 2 * width))
    total(table, out)
    return run.mul_Tensor(out, x, out) if order else out


def bessel_y(int order, TensorBase x, TensorBase out):
    width = numbers(WEIGHTS[Y + order], x).numel
    if not fits(out, width):
        return in_pieces(width, partial(bessel_y, order), out, x)
    space = space_for(x, 2 + 3 * width)
    table = waves(Y + order, x, x, space)
    if order:
        logarithm, one = upright(run.xlogy_Tensor(x, x, out)), numbers(ONE_OF_Y1, x)
        weights = run.addcmul(one, logarithm, numbers(LOG_OF_Y1, x), 1, space.table(one))
        run.addcmul(weights, upright(x), numbers(X_OF_Y1, x), 1, weights)
    else:
        logarithm, rest = upright(run.log(x, out)), numbers(REST_OF_Y0, x)
        weights = run.addcmul(rest, logarithm, numbers(LOG_OF_Y0, x), 1, space.table(rest))
    near = columns(table, 0, weights.sizes[weights.ndim - 1])
    run.mul_Tensor(near, weights, near)
    total(table, out)
    return run.div_Tensor(out, run.abs(x, space.room()), out) if order else out


def spherical_bessel_j0(TensorBase x, TensorBase out):
    """sin(x) / x; of the nearest number where x is 0 or infinite."""
    size = space_for(x, 1).room()
    if x.dtype == Double:
        run.clamp(run.abs(x, size), DBL_MIN, DBL_MAX, size)
    else:
        run.clamp(run.abs(x, size), FLT_MIN, FLT_MAX, size)
    return run.div_Tensor(run.sin(size, out), size, out)
