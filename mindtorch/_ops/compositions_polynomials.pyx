"""Formulas of orthogonal polynomials, by their recurrences: section 18.9 of dlmf.nist.gov.

p_0 = 1, p_1 = slope x + start, p_{k+1} = (a x + b) p_k - c p_{k-1}. Each p_k is multiplied by a factor that takes the
place of c: then aclnnAddcmul goes from one to the next, and b, where there is one, takes a launch more.

Degrees are cut to integers; below 0 the result is 0. Of several degrees all up to the highest are computed, and each
element takes its own: that waits for the highest.
"""
from functools import partial

import numpy

from libc.math cimport fabs
from libc.stdint cimport int64_t
from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.device cimport copy_data
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.readings cimport are_few, read_extremes
from mindtorch._core.scalar cimport Long, Scalar
from mindtorch._core.space cimport fits, space_for, spread
from mindtorch._core.tensor cimport Shape, Storage, TensorBase, allocate, empty_tensor, make_plain
from mindtorch._core.values cimport read_scalar

from mindtorch._ops.compositions_tables import in_pieces, tables

cdef enum:
    SPARE = 64          # numbers of a table that needs no memory of its own

cdef double MOST_DEGREES = 2.0 ** 40        # far more than memory holds, and few enough to reckon with


cdef enum Family:
    CHEBYSHEV
    SHIFTED_CHEBYSHEV
    HERMITE_H
    HERMITE_HE
    LAGUERRE
    LEGENDRE


cdef struct Polynomials:
    int family
    double slope
    double start


cdef struct Step:
    double a
    double b
    double c


cdef Step step(int family, double k) noexcept:
    cdef Step found
    found.a, found.b, found.c = 2, 0, 1
    if family == SHIFTED_CHEBYSHEV:         # by x - 1/2
        found.a = 4
    elif family == HERMITE_H:
        found.c = 2 * k
    elif family == HERMITE_HE:
        found.a, found.c = 1, k
    elif family == LAGUERRE:
        found.a, found.b, found.c = -1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)
    elif family == LEGENDRE:
        found.a, found.c = (2 * k + 1) / (k + 1), k / (k + 1)
    return found


def _inverse_factors(int family, int degree, wide):
    """A row of 0, which is what lies below degree 0, and of 1 over the factor of each degree."""
    factors = [1.0, 1.0]
    for k in range(1, degree):
        factors.append(-factors[k - 1] / step(family, k).c)
    return 1 / numpy.array([numpy.inf, *factors[:degree + 1]])


def _zero_and_one(wide):
    return numpy.array([0.0, 1.0])


def _number(value, wide):
    return numpy.array(value)


cdef tuple ZERO_AND_ONE = tables(_zero_and_one)
cdef dict NUMBERS = {}                      # number -> its tables
cdef list INVERSE_FACTORS = [{}, {}, {}, {}, {}, {}]        # by family: degree -> tables


cdef TensorBase number_for(double value, TensorBase like):
    found = NUMBERS.get(value)
    if found is None:
        found = NUMBERS[value] = tables(_number, value)
    return numbers(found, like)


cdef TensorBase inverse_factors(int family, int64_t degree, TensorBase like):
    of_family = <dict>INVERSE_FACTORS[family]
    found = of_family.get(degree)
    if found is None:
        found = of_family[degree] = tables(_inverse_factors, family, degree)
    return numbers(found, like)


# --- recurrences -----------------------------------------------------------------------------------------------------

cdef bint goes_by_p_1(const Polynomials *kind) noexcept:
    """Where p_1 is the argument that is shifted, but for a factor."""
    return kind.family == SHIFTED_CHEBYSHEV and kind.start == 0


cdef int begin(const Polynomials *kind, double factor, TensorBase x, TensorBase out) except -1:
    """p_1; x is shifted already, unless all go by p_1."""
    start = -0.5 * kind.slope if goes_by_p_1(kind) else kind.start
    run.rsub_Scalar(x, start * factor, -kind.slope * factor, out)
    return 0


cdef int go_on(const Polynomials *kind, int64_t k, double *factors, double scale, TensorBase x, TensorBase before,
               TensorBase now, TensorBase out) except -1:
    """p_{k+1}; the factors are those of the last two; x lacks the factor `scale`."""
    cdef Step found = step(kind.family, k)
    cdef double following = -factors[0] / found.c
    cdef double ratio = following / factors[1]
    run.addcmul(before, x, now, found.a * scale * ratio, out)
    if found.b != 0:
        run.add_Tensor(out, now, found.b * ratio, out)
    factors[0], factors[1] = factors[1], following
    return 0


cdef TensorBase of_degree(const Polynomials *kind, int64_t degree, TensorBase x, TensorBase out):
    cdef double[2] factors = [1, 1]
    cdef double scale = 1
    cdef int64_t k
    if degree < 1:
        return run.fill__Scalar(out, 1 if degree == 0 else 0)
    for k in range(1 + degree % 2, degree, 2):          # every second factor comes of the one before: the last one is 1
        factors[degree % 2] *= -step(kind.family, k).c
    space = space_for(x, 2)
    other = space.room()
    even, odd = (other, out) if degree % 2 else (out, other)
    now = odd
    if goes_by_p_1(kind):
        now = odd if degree == 1 else space.room()
    elif kind.family == SHIFTED_CHEBYSHEV:
        x = run.sub_Scalar(x, 0.5, 1, space.room())
    before = number_for(factors[0], x)
    begin(kind, factors[1], x, now)
    if goes_by_p_1(kind):
        x, scale = now, 1 / (kind.slope * factors[1])
    for k in range(1, degree):
        following = even if k % 2 else odd
        go_on(kind, k, factors, scale, x, before, now, following)
        before, now = now, following
    return out


# --- several degrees -------------------------------------------------------------------------------------------------

cdef TensorBase layers(TensorBase x, int64_t count, int64_t stride, TensorBase out):
    """So many tensors of the shape of `out`, the first of which is x, the others as far from each other."""
    cdef Shape shape
    cdef Shape strides
    cdef int i, less = out.ndim - x.ndim
    shape.sizes[0], strides.sizes[0] = count, stride
    for i in range(out.ndim):
        shape.sizes[i + 1] = out.sizes[i]
        strides.sizes[i + 1] = 0 if i < less or x.sizes[i - less] == 1 else x.strides[i - less]
    return make_plain(x.storage, x.dtype, out.ndim + 1, shape.sizes, strides.sizes, x.offset)


cdef TensorBase tower(Storage storage, TensorBase x, int64_t count):
    """So many tensors of the shape of x, from the beginning of the memory on."""
    cdef Shape shape
    cdef int i
    shape.sizes[0] = count
    for i in range(x.ndim):
        shape.sizes[i + 1] = x.sizes[i]
    return make_plain(storage, x.dtype, x.ndim + 1, shape.sizes, NULL, 0)


cdef TensorBase along(TensorBase table, TensorBase row):
    """A number for each of the first dimension: the last ones of the row."""
    cdef Shape shape
    cdef int i
    shape.sizes[0] = table.sizes[0]
    for i in range(1, table.ndim):
        shape.sizes[i] = 1
    return make_plain(row.storage, row.dtype, table.ndim, shape.sizes, NULL, row.offset + row.numel - shape.sizes[0])


cdef TensorBase of_degrees(const Polynomials *kind, int64_t top, bint below, TensorBase x, TensorBase place,
                           TensorBase out):
    """Up to p_top, of which each element takes the one at its place; with `below`, 0 comes before p_0."""
    cdef double[2] factors = [1, 1]
    cdef double scale = 1
    cdef int64_t k, count = top + 1 + below
    cdef Storage storage = allocate(x.numel * (count + 1), x.dtype, x.device_type, x.device_index)
    table, operand = tower(storage, x, count), x
    if below:
        copy_data(tower(storage, x, 2), along(tower(storage, x, 2), numbers(ZERO_AND_ONE, x)), True)
    before = level(table, below)
    if not below:
        run.fill__Scalar(before, 1)
    if kind.family == SHIFTED_CHEBYSHEV and not goes_by_p_1(kind):
        operand = run.sub_Scalar(x, 0.5, 1, level(table, count))
    if top > 0:
        now = level(table, below + 1)
        begin(kind, 1, operand, now)
    if top > 0 and goes_by_p_1(kind):
        operand, scale = now, 1 / kind.slope
    for k in range(1, top):
        following = level(table, below + k + 1)
        go_on(kind, k, factors, scale, operand, before, now, following)
        before, now = now, following
    if top > 1:
        run.mul_Tensor(table, along(table, inverse_factors(kind.family, top, x)), table)
    run.gather(layers(level(table, 0), count, x.numel, out), 0, layers(place, 1, 0, out), False, layers(out, 1, 0, out))
    return out


def _of_degree(int family, double slope, double start, int64_t degree, TensorBase x, TensorBase out):
    cdef Polynomials kind = Polynomials(family, slope, start)
    of_degree(&kind, degree, x, out)


def _of_degrees(int family, double slope, double start, int64_t top, bint below, TensorBase x, TensorBase n,
                TensorBase out):
    cdef Polynomials kind = Polynomials(family, slope, start)
    return of_degrees(&kind, top, below, x, places(n, below), out)


def _of_number(int family, double slope, double start, int64_t top, bint below, TensorBase x, TensorBase n,
               TensorBase out):
    cdef Polynomials kind = Polynomials(family, slope, start)
    return of_number(&kind, top, below, x, places(n, below), out)


cdef TensorBase level(TensorBase table, int64_t k):
    """The k-th of the first dimension, the one after the last included."""
    cdef int64_t stride = table.strides[0]
    return make_plain(table.storage, table.dtype, table.ndim - 1, table.sizes + 1, NULL, table.offset + k * stride)


cdef TensorBase of_number(const Polynomials *kind, int64_t top, bint below, TensorBase x, TensorBase place,
                          TensorBase out):
    """The same of a number that the host has: it takes a table of numbers, which are arguments of launches."""
    cdef Scalar number
    cdef Shape shape
    cdef Step found
    cdef int64_t k
    cdef double now = 1, before = 0, following
    read_scalar(x, &number)
    cdef double at = number.real - 0.5 if kind.family == SHIFTED_CHEBYSHEV else number.real
    shape.ndim, shape.sizes[0] = 1, top + 1 + below
    if shape.sizes[0] <= SPARE:
        table = make_plain(place.storage, out.dtype, 1, shape.sizes, NULL,
                           rounded(place.numel) * 8 // ITEMSIZE[<int>out.dtype])
    else:
        table = empty_tensor(&shape, out.dtype, out.device_type, out.device_index)
    if below:
        run.zero_(level(table, 0))
    for k in range(top + 1):
        run.fill__Scalar(level(table, k + below), now)
        found = step(kind.family, k)
        following = (found.a * at + found.b) * now - found.c * before if k else kind.slope * at + kind.start
        before, now = now, following
    return run.take(table, place, out)


cdef int64_t rounded(int64_t count) noexcept:
    return (count + SPARE - 1) // SPARE * SPARE


cdef TensorBase whole(TensorBase n):
    """n as int64, in memory with room for SPARE numbers behind it."""
    storage = allocate(rounded(n.numel) + SPARE, Long, n.device_type, n.device_index)
    made = make_plain(storage, Long, n.ndim, n.sizes, NULL, 0)
    copy_data(made, n, True)
    return made


cdef TensorBase places(TensorBase n, bint below):
    """Of the degrees among all that are computed, the first of which stands for those below 0."""
    place = whole(n)
    return run.add_Scalar(run.clamp(place, -1, None, place), 1, 1, place) if below else place


cdef TensorBase polynomial(int family, double slope, double start, TensorBase x, TensorBase n, TensorBase out):
    cdef Polynomials kind = Polynomials(family, slope, start)
    cdef Scalar number
    cdef int64_t least, top
    if n.numel == 1:
        read_scalar(n, &number)
        return of_degree(&kind, <int64_t>number.real if fabs(number.real) < MOST_DEGREES else -1, spread(x, out), out)
    read_extremes(n if are_few(n) else whole(n), &least, &top)
    if least == top:
        _of_degree(family, slope, start, top, spread(x, out), out)
        return out
    arguments = family, slope, start, max(min(top, <int64_t>MOST_DEGREES), 0), least < 0
    if x.device_type != out.device_type:
        _of_number(*arguments, x, n, out)
    elif fits(out, top + 3):
        _of_degrees(*arguments, x, n, out)
    else:
        return in_pieces(top + 3, partial(_of_degrees, *arguments), out, x, n)
    return out


# --- families --------------------------------------------------------------------------------------------------------

def chebyshev(TensorBase x, TensorBase n, double slope, double start, bint shifted, TensorBase out):
    if shifted:
        return polynomial(SHIFTED_CHEBYSHEV, 2 * slope, start, x, n, out)
    return polynomial(CHEBYSHEV, slope, start, x, n, out)


def hermite(TensorBase x, TensorBase n, double slope, TensorBase out):
    """H_n for slope 2, He_n for slope 1."""
    return polynomial(HERMITE_H if slope == 2 else HERMITE_HE, slope, 0, x, n, out)


def laguerre(TensorBase x, TensorBase n, TensorBase out):
    return polynomial(LAGUERRE, -1, 1, x, n, out)


def legendre(TensorBase x, TensorBase n, TensorBase out):
    return polynomial(LEGENDRE, 1, 0, x, n, out)
