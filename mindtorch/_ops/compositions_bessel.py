"""Formulas of Bessel functions: integrals as sums over a table, and series of Chebyshev polynomials.

Rows of numbers are made once, on the host in float64; equations are those of dlmf.nist.gov. `wide` is 0 for float32 and
1 for float64.
"""
from math import log, pi, sqrt

import numpy

from mindtorch._core._gen import direct as run
from mindtorch._core.scratch import column, mean, room, room_for_table, room_for_truth, total
from mindtorch._ops.compositions import put
from mindtorch._ops.compositions_tables import in_pieces, is_wide, tables
from mindtorch._type_info import finfo

_EULER = 0.5772156649015329


def combined(operator, x, row):
    """A table of operator(element, number of the row)."""
    return operator(column(x), row, room_for_table(x, row))


# --- series of Chebyshev polynomials ---------------------------------------------------------------------------------

def _even_numbers(counts, wide):
    return 2 * numpy.arange(counts[wide])


def _coefficients(function, counts, wide):
    """Of Chebyshev's polynomials, for function(1 / u - 1, u) with u between 0 and 1."""
    angles = (numpy.arange(128) + 0.5) * pi / 128
    u = (numpy.cos(angles) + 1) / 2
    found = numpy.cos(numpy.outer(numpy.arange(counts[wide]), angles)) @ function(1 / u - 1, u) / 64
    found[0] /= 2
    return found


def series(function, counts):
    """The tables that `of_right_half` takes: for float32 and float64, so many terms."""
    return tables(_even_numbers, counts), tables(_coefficients, function, counts)


def of_right_half(rows, wide, root, out):
    """The function of x >= 0 behind a `series`, root = (x + 1) ** -0.5: the polynomial of degree k is the cosine of 2 k
    times the root's angle.
    """
    table = combined(run.mul_Tensor, run.acos(root, room(root)), rows[0][wide].on(root))
    return total(run.cos(table, table), rows[1][wide].on(root), out)


# --- modified Bessel functions ---------------------------------------------------------------------------------------

def _scaled_i0(x, u):
    """exp(-x) I(x), by 10.32.3, over what it is like for large x."""
    angles = (numpy.arange(4096) + 0.5) * pi / 4096
    return numpy.exp(numpy.outer(x, numpy.cos(angles) - 1)).mean(1) / numpy.sqrt(u)


def _scaled_i1(x, u):
    """The same of order 1, also over x u."""
    angles = (numpy.arange(4096) + 0.5) * pi / 4096
    values = numpy.exp(numpy.outer(x, numpy.cos(angles) - 1)) @ numpy.cos(angles) / 4096
    return values / numpy.sqrt(u) / (x * u)


_COUNTS_OF_I = (28, 66)
_SERIES_OF_I = series(_scaled_i0, _COUNTS_OF_I), series(_scaled_i1, _COUNTS_OF_I)


def _bessel_i(order, size, x, out):
    root = run.add_Scalar(size, 1, 1, room(size))
    run.rsqrt(root, root)
    of_right_half(_SERIES_OF_I[order], is_wide(x), root, out)
    if order:       # times x / (|x| + 1), in an order in which nothing overflows
        largest = finfo(x.dtype).max
        factor = run.clamp(x, -largest, largest, room(x))
        run.mul_Tensor(out, run.mul_Tensor(factor, root, factor), out)
        run.mul_Tensor(out, root, out)
    return run.mul_Tensor(out, root, out)


def _scaled_bessel_i(out, x, order):
    return _bessel_i(order, run.abs(x, room(x)), x, out)


def _plain_bessel_i(out, x, order):
    size = run.abs(x, room(x))
    _bessel_i(order, size, x, out)
    return run.mul_Tensor(out, run.exp(size, size), out)


def scaled_bessel_i(order, x, out):
    """exp(-|x|) I_order(x)."""
    return in_pieces(_COUNTS_OF_I[is_wide(x)], lambda out, x: _scaled_bessel_i(out, x, order), out, x)


def bessel_i(order, x, out):
    return in_pieces(_COUNTS_OF_I[is_wide(x)], lambda out, x: _plain_bessel_i(out, x, order), out, x)


# exp(x) K_0(x) is the integral over v of 2 exp(-v^2) / sqrt(2 x + v^2), from 10.32.9; v = exp(t) makes its terms smooth
# for large and for tiny x alike. The first counts as 0, so that x = 0 gives infinity, and x < 0 no number.

_STEP, _LOWEST = (0.28, 0.16), (-60.0, -380.0)


def _points(wide):
    return numpy.exp(numpy.arange(_LOWEST[wide], 1.8, _STEP[wide]))


_WIDTH = [len(_points(wide)) for wide in (0, 1)]


def _half_squares(wide):
    squares = _points(wide) ** 2 / 2
    squares[0] = 0
    return squares


def _weights_of_k(power, wide):
    v = _points(wide)
    weights = sqrt(2) * _STEP[wide] * numpy.exp(-v * v) * v ** (1 + power)
    return numpy.maximum(weights, 1e-15 * v)        # nothing that is 0 in float32 may meet the infinite


_HALF_SQUARES, _WEIGHTS_OF_K, _MORE_OF_K1 = tables(_half_squares), tables(_weights_of_k, 0), tables(_weights_of_k, 2)


def bessel_k(order, x, scaled, out):
    """exp(x) K_order(x), or K_order(x)."""
    wide, one = is_wide(x), 1

    def compute(out, x):
        squares, weights = _HALF_SQUARES[wide].on(x), _WEIGHTS_OF_K[wide].on(x)
        table = run.add_Tensor(column(x), squares, one, room_for_table(x, squares))
        run.rsqrt(table, table)
        if order == 0:
            total(table, weights, out)
        else:
            total(run.mul_Tensor(table, weights, room(table)), None, out)
            more = total(table, _MORE_OF_K1[wide].on(x), room(x))
            run.add_Tensor(out, run.div_Tensor(more, run.abs(x, room(x)), more), one, out)
        if scaled:
            return out
        factor = run.neg(x, room(x))
        return run.mul_Tensor(out, run.exp(factor, factor), out)
    return in_pieces(_WIDTH[wide], compute, out, x)


# --- Bessel functions ------------------------------------------------------------------------------------------------

# Where large arguments begin, angles in a quarter turn, Bessel functions in Neumann's series, terms of Hankel's.
_NEAR, _ANGLES, _NEUMANN, _HANKEL = (12.0, 25.0), (18, 32), (17, 32), (10, 16)


def _angles(wide):
    return (numpy.arange(_ANGLES[wide]) + 0.5) * pi / (2 * _ANGLES[wide])


def _cosines(wide):
    return numpy.cos(_angles(wide))


def _mean_of_cosines(wide):
    return _cosines(wide) / _ANGLES[wide]


def _rest_of_y(power, wide):
    """What Y_0 has beside 2 / pi log(x) J_0: 10.8.3 in Bessel functions, each an integral as in 10.9.1; `power` 1 for
    the derivative.
    """
    k = numpy.arange(1, _NEUMANN[wide] + 1)
    terms = numpy.cos(numpy.outer(_angles(wide), 2 * k)) @ (1 / k)
    return (2 / pi * (_EULER - log(2)) - 4 / pi * terms) / _ANGLES[wide] * _cosines(wide) ** power


def _phases(order, sine, wide):
    turns = numpy.arange(_HANKEL[wide]) / 2 - (2 * order + 1) / 4 - sine / 2
    return pi * ((turns + 1) % 2 - 1)


def _powers(wide):
    return -numpy.arange(_HANKEL[wide]) - 0.5


def _hankel(order, wide):
    k = numpy.arange(1, _HANKEL[wide])
    ratios = (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
    return sqrt(2 / pi) * numpy.concatenate([[1], numpy.cumprod(ratios)])


_COSINES, _MEAN_OF_COSINES, _POWERS = tables(_cosines), tables(_mean_of_cosines), tables(_powers)
_REST_OF_Y = tables(_rest_of_y, 0), tables(_rest_of_y, 1)
_PHASES = [[tables(_phases, order, sine) for sine in (0, 1)] for order in (0, 1)]
_OF_HANKEL = tables(_hankel, 0), tables(_hankel, 1)


def _far(order, sine, x, wide, out):
    """J or Y for large x: 10.17.3 and 10.17.4."""
    phases, each = _PHASES[order][sine][wide].on(x), column(x)
    table = run.add_Tensor(each, phases, 1, room_for_table(x, phases))
    run.cos(table, table)
    run.mul_Tensor(table, combined(run.pow_Tensor_Tensor, x, _POWERS[wide].on(x)), table)
    return total(table, _OF_HANKEL[order][wide].on(x), out)


def bessel_j(order, x, out):
    wide = is_wide(x)

    def compute(out, x):
        """Near, the mean over a quarter turn: 10.9.1, for order 1 its derivative."""
        size, far, near = run.abs(x, room(x)), room(x), room_for_truth(x)
        table = combined(run.mul_Tensor, x, _COSINES[wide].on(x))
        if order == 0:
            mean(run.cos(table, table), out)
            _far(0, 0, size, wide, far)
        else:
            total(run.sin(table, table), _MEAN_OF_COSINES[wide].on(x), out)
            run.mul_Tensor(_far(1, 0, size, wide, far), run.sign(x, room(x)), far)
        return run.where_self(run.lt_Scalar(size, _NEAR[wide], near), out, far, out)
    return in_pieces(_ANGLES[wide], compute, out, x)


def _y_near(order, x, wide, out):
    table, first = combined(run.mul_Tensor, x, _COSINES[wide].on(x)), room(x)
    if order == 0:
        mean(run.cos(table, table), first)
        run.xlogy_Tensor(first, x, first)
    else:
        zeroth = mean(run.cos(table, room(table)), room(x))
        run.sin(table, table)
        total(run.mul_Tensor(table, _MEAN_OF_COSINES[wide].on(x), room(table)), None, first)
        run.xlogy_Tensor(first, x, first)
        run.sub_Tensor(first, run.div_Tensor(zeroth, run.abs(x, room(x)), zeroth), 1, first)
    return run.add_Tensor(total(table, _REST_OF_Y[order][wide].on(x), out), first, 2 / pi, out)


def bessel_y(order, x, out):
    wide = is_wide(x)

    def compute(out, x):
        _y_near(order, x, wide, out)
        far, near = _far(order, 1, x, wide, room(x)), run.lt_Scalar(x, _NEAR[wide], room_for_truth(x))
        return run.where_self(near, out, far, out)
    return in_pieces(_ANGLES[wide], compute, out, x)


def spherical_bessel_j0(x, out):
    """sin(x) / x."""
    largest = finfo(x.dtype).max
    run.clamp(x, -largest, largest, out)
    run.div_Tensor(run.sin(out, out), x, out)
    return put(out, run.eq_Scalar(x, 0, room_for_truth(x)), 1)
