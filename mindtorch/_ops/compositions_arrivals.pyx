"""Formulas of the counting distributions, Poisson and binomial: small means count arrivals, others are those of
compositions_counts.py. The largest mean is read, which waits for the device.
"""
from functools import partial

import numpy

from mindtorch._core._gen cimport direct as run
from mindtorch._core.constants cimport numbers
from mindtorch._core.generator cimport Generator
from mindtorch._core.readings cimport read_largest
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport Space, fits, shape_of, space_for, spread, total, upright
from mindtorch._core.tensor cimport Shape, TensorBase

from mindtorch._ops import compositions_counts as counts
from mindtorch._ops.compositions_tables import in_pieces, tables

cdef enum:
    ARRIVALS = 50       # more than that a mean below SMALL brings less than once in 10**17
    TRIALS = 32         # that are made one by one

cdef double SMALL = counts.SMALL


def _numbers_of_trials(wide):
    return numpy.arange(1.0, TRIALS + 1)


cdef tuple NUMBERS_OF_TRIALS = tables(_numbers_of_trials)


cdef TensorBase row_for_each(Space space, int width):
    """Memory for a row of so many numbers beside each element."""
    cdef Shape shape
    shape_of(&shape, space.like)
    shape.sizes[shape.ndim] = width
    shape.ndim += 1
    return space.cut(&shape, width, space.like.dtype)


cdef TensorBase gaps(Space space, Generator generator):
    """Times between arrivals, one of which comes in a unit of time; a row of them for each element."""
    table = row_for_each(space, ARRIVALS)
    if table.dtype != Double:
        return run.exponential_(table, 1, generator)
    run.uniform_(table, 0, 1, generator)    # the generator of exponential numbers does not make these
    run.log1p(run.neg(table, table), table)
    return run.neg(table, table)


cdef TensorBase summed(TensorBase table, Space space):
    """Running sums along the rows."""
    cdef Shape shape
    shape_of(&shape, table)
    return run.cumsum(table, table.ndim - 1, space.cut(&shape, ARRIVALS, table.dtype))


cdef TensorBase in_dtype(TensorBase x, TensorBase out):
    return x if x.dtype == out.dtype else x.to((<object>out).dtype)


def poisson(TensorBase self, Generator generator, TensorBase out):
    """How often what happens `self` times on average happens."""
    rate = spread(in_dtype(self, out), out)
    if not fits(out, ARRIVALS):
        return in_pieces(ARRIVALS, partial(few_and_large, generator), out, rate)
    return few_and_large(generator, rate, out)


cpdef TensorBase few_and_large(Generator generator, TensorBase rate, TensorBase out):
    table = gaps(space_for(out, ARRIVALS), generator)
    _arrivals_before(table, rate, out)
    if not read_largest(rate) < SMALL:       # or no number is among them
        counts.replace_large(rate, generator, out)
    return out


def _arrivals_before(TensorBase table, TensorBase end, TensorBase out):
    """How many; the table has the times between them."""
    times = summed(table, space_for(out, ARRIVALS))
    total(run.lt_Tensor(times, upright(end), times), out)


def binomial(TensorBase count, TensorBase prob, Generator generator, TensorBase out):
    """How many of `count` trials succeed, each with probability `prob`."""
    count, prob = spread(in_dtype(count, out), out), spread(in_dtype(prob, out), out)
    if not fits(out, ARRIVALS):
        return in_pieces(ARRIVALS, partial(successes, generator), out, count, prob)
    return successes(generator, count, prob, out)


cpdef TensorBase successes(Generator generator, TensorBase count, TensorBase prob, TensorBase out):
    if read_largest(count) <= TRIALS:
        table = row_for_each(space_for(out, TRIALS), TRIALS)
        run.uniform_(table, 0, 1, generator)
        _one_by_one(count, prob, table, out)
        return out
    return many_successes(generator, count, prob, out)


def _one_by_one(TensorBase count, TensorBase prob, TensorBase table, TensorBase out):
    """Each trial has a number in [0, 1), and succeeds below its probability."""
    numbers_of_trials = numbers(NUMBERS_OF_TRIALS, table)
    space = space_for(out, 2 + TRIALS)
    trials, likely = run.clamp(count, 0, None, space.room()), run.clamp(prob, 0, 1, space.room())
    run.lt_Tensor(table, upright(likely), table)
    taken = run.le_Tensor(numbers_of_trials, upright(trials), space.table(numbers_of_trials))
    total(run.mul_Tensor(table, taken, table), out)
    run.addcmul(out, trials, likely, 0, out)            # NaN of either


cdef TensorBase many_successes(Generator generator, TensorBase count, TensorBase prob, TensorBase out):
    space = space_for(out, 4 + 2 * ARRIVALS)
    trials, rare, mean = run.clamp(count, 0, None, space.room()), space.room(), space.room()
    likely = run.clamp(prob, 0, 1, mean)
    turned = run.round(likely, space.room())        # 1 where failures are the rarer event, NaN stays
    run.minimum(likely, run.rsub_Scalar(likely, 1, 1, rare), rare)
    run.mul_Tensor(trials, rare, mean)
    # A success after how many trials: between arrivals lie less than so many.
    scale = run.neg(rare, out)
    run.neg(run.log1p(scale, scale), scale)
    table = gaps(space, generator)
    run.ceil(run.div_Tensor(table, upright(scale), table), table)
    times = summed(run.clamp(table, 1, None, table), space)
    total(run.le_Tensor(times, upright(trials), times), out)
    if not read_largest(mean) < SMALL:       # or no number is among them
        counts.replace_many(count, prob, generator, out)
    return run.addcmul(out, turned, run.sub_Tensor(trials, out, 2, trials), 1, out)
