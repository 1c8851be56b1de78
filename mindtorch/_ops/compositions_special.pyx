"""Formulas of error functions and incomplete gamma functions. See compositions.py; the numbers are those of
tables_special.py.
"""
from functools import partial
from math import inf, sqrt

from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport Space, fits, space_for, spread, total, upright
from mindtorch._core.tensor cimport TensorBase

from mindtorch._ops import tables_special as tables
from mindtorch._ops.compositions import put
from mindtorch._ops.compositions_tables import in_pieces

cdef tuple SQUARES_OF_ERFC = tables.SQUARES_OF_ERFC
cdef tuple SLOPES_OF_ERFC = tables.SLOPES_OF_ERFC, WEIGHTS_OF_ERFC = tables.WEIGHTS_OF_ERFC
cdef tuple SLOPES_OF_NORMAL = tables.SLOPES_OF_NORMAL, LOGS_OF_NORMAL = tables.LOGS_OF_NORMAL
cdef tuple POINTS_OF_GAMMA = tables.POINTS_OF_GAMMA, STEP_OF_GAMMA = tables.STEP_OF_GAMMA
cdef object ROOT_OF_HALF = sqrt(0.5)


# --- error functions -------------------------------------------------------------------------------------------------

cdef TensorBase exponentials(TensorBase x, TensorBase first, TensorBase slopes, Space space):
    table = run.addcmul(first, upright(x), slopes, 1, space.table(slopes))
    return run.exp(table, table)


def scaled_erfc(TensorBase x, TensorBase out):
    """exp(x^2) erfc(x)."""
    slopes = numbers(SLOPES_OF_ERFC, x)
    if not fits(out, slopes.numel):
        return in_pieces(slopes.numel, scaled_erfc, out, x)
    table = exponentials(x, numbers(SQUARES_OF_ERFC, x), slopes, space_for(x, slopes.numel))
    total(run.mul_Tensor(table, numbers(WEIGHTS_OF_ERFC, x), table), out)
    return out


def log_normal_distribution(TensorBase x, TensorBase out):
    """log of the normal distribution function, also where that is 0."""
    slopes = numbers(SLOPES_OF_NORMAL, x)
    if not fits(out, slopes.numel):
        return in_pieces(slopes.numel, log_normal_distribution, out, x)
    space = space_for(x, 2 + slopes.numel)
    total(exponentials(x, numbers(LOGS_OF_NORMAL, x), slopes, space), out)
    run.addcmul(run.log(out, out), x, x, -0.5, out)
    right = run.mul_Scalar(x, ROOT_OF_HALF, space.room())
    run.mul_Scalar(run.erfc(right, right), -0.5, right)
    return run.where_self(run.lt_Scalar(x, 0, space.truth()), out, run.log1p(right, right), out)


def entropy(TensorBase self, TensorBase out):
    """-x log(x), 0 at 0 and -infinity below."""
    run.neg(run.xlogy_Tensor(self, self, out), out)
    return put(out, run.lt_Scalar(self, 0, space_for(self, 1).truth()), -inf)


# --- incomplete gamma functions --------------------------------------------------------------------------------------

# 8.2.1 and 8.2.2 with the variable x exp(y): x^a times the integral over y of exp(a y - x exp(y)), from minus infinity
# to 0 where x < a + 1, else from 0 on. The scale of y goes by a, or by x, and points at equal ratios serve all slopes:
# their weights are the step times y. Left of 0 that gives -P(a, x), right of it Q(a, x).

cdef TensorBase integral(TensorBase a, TensorBase x, TensorBase log_x, TensorBase scale, TensorBase points,
                         Space space):
    """-P(a, x), or Q(a, x), over the step."""
    value = run.lgamma(a, space.room())
    run.addcmul(value, a, log_x, -1, value)
    y, terms = run.mul_Tensor(upright(scale), points, space.table(points)), space.table(points)
    powers = run.exp(y, space.table(points))
    run.addcmul(upright(value), y, upright(a), -1, terms)
    run.addcmul(terms, powers, upright(x), 1, terms)
    total(run.div_Tensor(y, run.exp(terms, terms), terms), value)
    return value


cdef TensorBase edge_of(TensorBase a, TensorBase log_x, bint upper, TensorBase inside, Space space):
    """0 or 1, where a or x is 0 or infinite, which is not `inside`; no number for two of these or below 0."""
    ratio = run.log(a, space.room())
    if upper:
        run.sub_Tensor(ratio, log_x, 1, ratio)
    else:
        run.sub_Tensor(log_x, ratio, 1, ratio)
    run.isfinite_kernel(ratio, inside)
    return run.clamp(ratio, 0, 1, ratio)


def _incomplete_gamma(bint upper, TensorBase a, TensorBase x, TensorBase out):
    cdef int wide = 1 if x.dtype == Double else 0
    points = numbers(POINTS_OF_GAMMA, x)
    space = space_for(x, 6 + 3 * points.numel)
    log_x = run.log(x, space.room())
    larger, scale, side = run.add_Scalar(a, 1, 1, space.room()), run.neg(a, space.room()), space.truth()
    if upper:               # what is added to -P is 1, and to Q 0
        run.where_self(run.lt_Tensor(x, larger, side), scale, x, scale)
    else:
        run.where_self(run.ge_Tensor(x, larger, side), x, scale, scale)
    root = run.sqrt(run.maximum(larger, x, larger), larger)
    run.div_Tensor(root, scale, scale)
    value = integral(a, x, log_x, scale, points, space)
    run.add_Tensor(side, value, STEP_OF_GAMMA[wide] if upper else -STEP_OF_GAMMA[wide], value)
    edge = edge_of(a, log_x, upper, side, space)
    return run.where_self(side, value, edge, out)


def incomplete_gamma(TensorBase a, TensorBase x, bint upper, TensorBase out):
    """The regularised incomplete gamma function, the lower or the upper one."""
    a, x = spread(a, out), spread(x, out)
    width = numbers(POINTS_OF_GAMMA, x).numel
    if not fits(out, width):
        return in_pieces(width, partial(_incomplete_gamma, upper), out, a, x)
    return _incomplete_gamma(upper, a, x, out)
