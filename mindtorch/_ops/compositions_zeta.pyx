"""Formulas of Hurwitz's zeta function and the derivatives of digamma. See compositions.py.

Zeta is the sum of (k + q)^-s up to where k + q is large, then the remainder 25.11.5: one table has the terms, then what
the remainder consists of. How many terms are below 0 is asked of the device, unless the host knows it.
"""
from functools import partial
from math import factorial, inf, nan, pi

from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.space cimport Space, columns, fits, space_for, spread, total, upright
from mindtorch._core.readings cimport read_range
from mindtorch._core.tensor cimport TensorBase, make_alias

from mindtorch._core.constants import constant
from mindtorch._ops import tables_special as tables
from mindtorch._ops.compositions_tables import in_pieces

cdef enum:
    TERMS = 32          # at least
    REST = 6            # powers in the remainder

cdef object offsets_of_zeta = tables.offsets_of_zeta, exponents_of_zeta = tables.exponents_of_zeta
cdef object weights_of_zeta = tables.weights_of_zeta, terms_of_zeta = tables.terms_of_zeta
cdef object shares_of_zeta = tables.shares_of_zeta
cdef tuple FACTORS_OF_ZETA = tables.FACTORS_OF_ZETA, ONE = tables.ONE


cdef int times_zeta(double factor, int s, int count, TensorBase q, Space space, TensorBase out) except -1:
    """Takes count + REST numbers of the space."""
    cdef TensorBase offsets = constant(q, offsets_of_zeta, count)
    table = run.add_Tensor(upright(q), offsets, 1, space.table(offsets))
    run.pow_Tensor_Tensor(table, constant(q, exponents_of_zeta, s, count), table)
    run.mul_Tensor(table, constant(q, weights_of_zeta, s, factor, count), table)
    return total(table, out)


# --- poles -----------------------------------------------------------------------------------------------------------

def _poles_of(TensorBase q, TensorBase regular, TensorBase nearest, TensorBase inside):
    """q, but 1 at the poles and where it is no number; a number that is 0 at the poles; and where neither is so."""
    run.remainder_Scalar(q, 1, nearest)
    run.gt_Scalar(run.maximum(nearest, q, nearest), 0, inside)
    run.where_self(inside, q, numbers(ONE, q), regular)


cdef tuple poles_of(TensorBase q):
    """What _poles_of finds, and the number of terms for it."""
    cdef double lowest, highest
    space = space_for(q, 3)
    regular, nearest, inside = space.room(), space.room(), space.truth()
    _poles_of(q, regular, nearest, inside)
    read_range(regular, &lowest, &highest)
    return regular, (nearest, inside), terms_for(lowest)


cdef int terms_for(double lowest):
    """So many that what follows is large; one of a few numbers, for each has its tables."""
    cdef int count = TERMS
    while count < TERMS + 1 - lowest:
        count *= 2
    return count


cdef object at_once(int width, compute, tuple arguments, TensorBase out, tuple operands):
    """Or in pieces, which takes methods of tensors."""
    if fits(out, width):
        compute(*arguments, *operands, out)
        return out
    return in_pieces(width, partial(compute, *arguments), out, *[make_alias(operand) for operand in operands])


cdef TensorBase filled(TensorBase x, TensorBase out):
    """`spread`, without a copy from the host."""
    if x.device_type == out.device_type:
        return spread(x, out)
    return run.fill__Scalar(space_for(out, 1).room(), x.item())


# --- zeta ------------------------------------------------------------------------------------------------------------

def _hurwitz_zeta(int count, TensorBase s, TensorBase q, *others):
    """The others: what poles_of has beside q, where there may be poles, and the output."""
    cdef TensorBase out = others[len(others) - 1]
    s, q = filled(s, out), filled(q, out)
    cdef TensorBase places = constant(s, terms_of_zeta, count), shares = constant(s, shares_of_zeta, count)
    factors = numbers(FACTORS_OF_ZETA, s)
    space = space_for(s, 3 + places.numel + factors.numel + shares.numel)
    exponent, edge = run.clamp(s, None, 1e30, space.room()), space.room()     # infinity times 0 would be no number
    sums = run.add_Tensor(upright(q), places, 1, space.table(places))
    table, rising = space.table(shares), space.table(factors)
    run.add_Tensor(upright(exponent), factors, 1, rising)
    run.div_Tensor(rising, columns(sums, count, 1), rising)
    run.pow_Tensor_Tensor(sums, upright(run.neg(exponent, exponent)), columns(table, 0, count + 1))
    sum_up(count, shares, table, rising, out)
    if len(others) > 1:
        run.where_self(others[1], out, run.pow_Tensor_Scalar(others[0], -2, edge), out)
    # Where s is not above 1 there is infinity, or no number: the root of what s - 1 has been divided into.
    run.rsqrt(columns(rising, 1, 1), upright(edge))
    return run.where_self(run.le_Scalar(s, 1, space.truth()), edge, out, out)


def _hurwitz_zeta_of_number(int count, TensorBase s, TensorBase q, TensorBase out):
    """The same of an s that the host has, without poles."""
    cdef double exponent = min(<double>s.item(), 1e30)
    if not exponent > 1:
        return run.fill__Scalar(out, inf if exponent == 1 else nan)
    cdef TensorBase places = constant(q, terms_of_zeta, count), shares = constant(q, shares_of_zeta, count)
    factors = numbers(FACTORS_OF_ZETA, q)
    space = space_for(out, places.numel + factors.numel + shares.numel)
    sums = run.add_Tensor(upright(filled(q, out)), places, 1, space.table(places))
    table, rising = space.table(shares), space.table(factors)
    factors = run.add_Scalar(factors, exponent, 1, space_for(factors, 1).room())
    run.div_Tensor(factors, columns(sums, count, 1), rising)
    run.pow_Tensor_Scalar(sums, -exponent, columns(table, 0, count + 1))
    sum_up(count, shares, table, rising, out)
    return out


cdef int sum_up(int count, TensorBase shares, TensorBase table, TensorBase rising, TensorBase out) except -1:
    """The remainder's terms beside the others, then the sum of all."""
    run.div_Tensor(columns(table, count, 1), columns(rising, 1, 1), columns(rising, 0, 1))
    run.cumprod(rising, rising.ndim - 1, columns(table, count + 1, rising.sizes[rising.ndim - 1]))
    return total(run.mul_Tensor(table, shares, table), out)


def hurwitz_zeta(TensorBase s, TensorBase q, TensorBase out):
    """Either of the two may be a number that the host has."""
    cdef double lowest, highest
    if q.device_type == out.device_type:
        read_range(q, &lowest, &highest)
    else:
        lowest = highest = q.item()
    poles, count = (), TERMS
    if 0 < lowest and highest < inf and s.device_type != out.device_type:
        return at_once(2 * count + 20, _hurwitz_zeta_of_number, (count,), out, (s, q))
    if not 0 < lowest or highest == inf:
        q, poles, count = poles_of(spread(q, out))
    return at_once(2 * count + 20, _hurwitz_zeta, (count,), out, (s, q, *poles))


# --- derivatives of digamma ------------------------------------------------------------------------------------------

def _trigamma(TensorBase x, TensorBase out):
    """25.11.12, by reflection on the left."""
    space = space_for(x, 3 + TERMS + REST)
    left, other = run.lt_Scalar(x, 0.5, space.truth()), run.rsub_Scalar(x, 1, 1, space.room())
    times_zeta(1, 2, TERMS, run.where_self(left, other, x, other), space, out)
    # The sine's argument is the distance from a whole number: pi * x itself would lose what stands behind the point.
    angle = run.round(x, other)
    run.mul_Scalar(run.sub_Tensor(x, angle, 1, angle), pi, angle)
    run.pow_Tensor_Scalar(run.sin(angle, angle), -2, angle)
    run.sub_Tensor(run.mul_Scalar(angle, pi * pi, angle), out, 1, angle)
    return run.where_self(left, angle, out, out)


def _polygamma(int n, int count, TensorBase x, TensorBase nearest, TensorBase inside, TensorBase out):
    cdef double factor = (1 if n % 2 else -1) * (<double>factorial(n) if n <= 170 else inf)
    space = space_for(x, 1 + count + REST)
    times_zeta(factor, n + 1, count, x, space, out)
    edge = run.pow_Tensor_Scalar(nearest, -2, space.room())
    if factor < 0:
        run.neg(edge, edge)
    return run.where_self(inside, out, edge, out)


def derivative_of_digamma(int n, TensorBase x, TensorBase out):
    """The n-th one."""
    if n == 0:
        return run.digamma(x, out)
    if n == 1:
        return in_pieces(TERMS + REST, _trigamma, out, x)
    q, poles, count = poles_of(x)
    return at_once(count + REST, _polygamma, (n, count), out, (q, *poles))
