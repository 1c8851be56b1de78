"""Formulas of orthogonal polynomials, by their recurrences: section 18.9 of dlmf.nist.gov.

p_0 = 1, p_1 = slope x + start, p_{k+1} = (a x + b) p_k - c p_{k-1}. Each p_k is multiplied by a factor that takes the
place of c: then aclnnAddcmul goes from one to the next, and b, where there is one, takes a launch more.

Degrees are cut to integers; below 0 the result is 0. Of several degrees all up to the highest are computed, and each
element takes its own: that waits for the highest.
"""
from functools import partial
from math import isfinite

import numpy

from libc.stdint cimport int64_t
from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.device cimport copy_data
from mindtorch._core.scalar cimport Long
from mindtorch._core.space cimport space_for, spread
from mindtorch._core.tensor cimport Shape, Storage, TensorBase, allocate, empty_tensor, make_plain

from mindtorch._core.constants import constant
from mindtorch._ops.compositions_tables import in_pieces, tables


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


def _inverse_factors(int family, int degree):
    """A row of 0, which is what lies below degree 0, and of 1 over the factor of each degree."""
    factors = [1.0, 1.0]
    for k in range(1, degree):
        factors.append(-factors[k - 1] / step(family, k).c)
    return 1 / numpy.array([numpy.inf, *factors[:degree + 1]])


def _zero_and_one(wide):
    return numpy.array([0.0, 1.0])


def _constant(value, wide):
    return numpy.array(value)


cdef tuple ZERO_AND_ONE = tables(_zero_and_one), ONE = tables(_constant, 1.0), MINUS_ONE = tables(_constant, -1.0)


# --- recurrences -----------------------------------------------------------------------------------------------------

cdef int begin(const Polynomials *kind, double factor, TensorBase x, TensorBase out) except -1:
    """p_1."""
    run.rsub_Scalar(x, kind.start * factor, -kind.slope * factor, out)
    return 0


cdef int go_on(const Polynomials *kind, int64_t k, double *factors, TensorBase x, TensorBase before, TensorBase now,
               TensorBase out) except -1:
    """p_{k+1}; the factors are those of the last two."""
    cdef Step found = step(kind.family, k)
    cdef double following = -factors[0] / found.c
    cdef double ratio = following / factors[1]
    run.addcmul(before, x, now, found.a * ratio, out)
    if found.b != 0:
        run.add_Tensor(out, now, found.b * ratio, out)
    factors[0], factors[1] = factors[1], following
    return 0


cdef TensorBase of_degree(const Polynomials *kind, int64_t degree, TensorBase x, TensorBase out):
    cdef double factors[2]
    cdef int64_t k
    if degree < 1:
        return run.fill__Scalar(out, 1 if degree == 0 else 0)
    factors[0] = factors[1] = 1
    factors[degree % 2] = -1 if degree // 2 % 2 else 1      # every second step changes the sign: the last one's is 1
    space = space_for(x, 2)
    other = space.room()
    if kind.family == SHIFTED_CHEBYSHEV:
        x = run.sub_Scalar(x, 0.5, 1, space.room())
    even, odd = (other, out) if degree % 2 else (out, other)
    before, now = numbers(ONE if factors[0] > 0 else MINUS_ONE, x), odd
    begin(kind, factors[1], x, now)
    for k in range(1, degree):
        following = even if k % 2 else odd
        go_on(kind, k, factors, x, before, now, following)
        before, now = now, following
    return out if factors[1] == 1 else run.mul_Scalar(out, 1 / factors[1], out)


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
    """A number for each of the first dimension."""
    cdef Shape shape
    cdef int i
    shape.sizes[0] = row.numel
    for i in range(1, table.ndim):
        shape.sizes[i] = 1
    return make_plain(row.storage, row.dtype, table.ndim, shape.sizes, NULL, row.offset)


def _of_degrees(int family, double slope, double start, int64_t top, TensorBase x, TensorBase place, TensorBase out):
    """Up to p_top, of which each element takes the one at its place: n + 1, and 0 where n is negative."""
    cdef Polynomials kind = Polynomials(family, slope, start)
    cdef double[2] factors = [1, 1]
    cdef int64_t k
    cdef Storage storage = allocate(x.numel * (top + 3), x.dtype, x.device_type, x.device_index)
    cdef list rows = [make_plain(storage, x.dtype, x.ndim, x.sizes, NULL, k * x.numel) for k in range(top + 3)]
    table, first = tower(storage, x, top + 2), tower(storage, x, 2)
    copy_data(first, along(first, numbers(ZERO_AND_ONE, x)), True)
    if family == SHIFTED_CHEBYSHEV:
        x = run.sub_Scalar(x, 0.5, 1, rows[top + 2])
    if top > 0:
        begin(&kind, 1, x, rows[2])
    for k in range(1, top):
        go_on(&kind, k, factors, x, rows[k], rows[k + 1], rows[k + 2])
    if top > 1:
        run.mul_Tensor(table, along(table, constant(x, _inverse_factors, family, top)), table)
    run.gather(layers(rows[0], top + 2, x.numel, out), 0, layers(place, 1, 0, out), False, layers(out, 1, 0, out))
    return out


cdef TensorBase places(TensorBase n):
    cdef Shape shape
    cdef int i
    shape.ndim = n.ndim
    for i in range(n.ndim):
        shape.sizes[i] = n.sizes[i]
    place = empty_tensor(&shape, Long, n.device_type, n.device_index)
    copy_data(place, n, True)
    run.clamp(place, -1, None, place)
    return run.add_Scalar(place, 1, 1, place)


cdef int64_t largest(TensorBase place) except -1:
    cdef Shape shape
    shape.ndim = 0
    return run.max(place, empty_tensor(&shape, Long, place.device_type, place.device_index)).item()


cdef TensorBase polynomial(int family, double slope, double start, TensorBase x, TensorBase n, TensorBase out):
    cdef Polynomials kind = Polynomials(family, slope, start)
    cdef int64_t top
    if n.numel == 1:
        number = n.item()
        return of_degree(&kind, int(number) if isfinite(number) else -1, spread(x, out), out)
    if x.device_type != out.device_type:
        x = x.to((<object>out).device)
    place = places(n)
    top = max(largest(place) - 1, 0)
    return in_pieces(top + 3, partial(_of_degrees, family, slope, start, top), out, x, place)


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
