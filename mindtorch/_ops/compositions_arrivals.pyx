"""Formulas of the counting distributions, Poisson and binomial: small means count arrivals, others are those of
compositions_counts.py. The largest mean is read, which waits for the device.
"""
from functools import partial

from mindtorch._core._gen cimport direct as run
from mindtorch._core.generator cimport Generator
from mindtorch._core.readings cimport read_largest
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport Space, fits, planned, shape_of, space_for, spread, total, upright
from mindtorch._core.tensor cimport Shape, TensorBase

from mindtorch._ops import compositions_counts as counts
from mindtorch._ops.compositions_tables import in_pieces

cdef enum:
    ARRIVALS = 50       # more than that a mean below SMALL brings less than once in 10**17

cdef double SMALL = counts.SMALL


cdef TensorBase gaps(Space space, Generator generator):
    """Times between arrivals, one of which comes in a unit of time; a row of them for each element."""
    cdef Shape shape
    shape_of(&shape, space.like)
    shape.sizes[shape.ndim] = ARRIVALS
    shape.ndim += 1
    table = space.cut(&shape, ARRIVALS, space.like.dtype)
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
    space = space_for(out, 2 * ARRIVALS)
    times = summed(gaps(space, generator), space)
    total(run.lt_Tensor(times, upright(rate), times), out)
    if not read_largest(rate) < SMALL:       # or no number is among them
        counts.replace_large(rate, generator, out)
    return out


def binomial(TensorBase count, TensorBase prob, Generator generator, TensorBase out):
    """How many of `count` trials succeed, each with probability `prob`."""
    count, prob = spread(in_dtype(count, out), out), spread(in_dtype(prob, out), out)
    if not fits(out, ARRIVALS):
        return in_pieces(ARRIVALS, partial(successes, generator), out, count, prob)
    return successes(generator, count, prob, out)


cpdef TensorBase successes(Generator generator, TensorBase count, TensorBase prob, TensorBase out):
    space = space_for(out, 5 + 2 * ARRIVALS)
    trials, turned, mean, scale = space.room(), space.room(), space.room(), space.room()
    planned(_trials, (), (count, prob, trials, turned, mean, scale))
    few = read_largest(mean) < SMALL        # not where no number is among them
    table = gaps(space, generator)
    planned(_arrived, (), (table, trials, scale, out))
    if not few:
        counts.replace_many(count, prob, generator, out)
    planned(_successes, (), (trials, turned, out))
    return out


def _trials(TensorBase count, TensorBase prob, TensorBase trials, TensorBase turned, TensorBase mean, TensorBase scale):
    """How many; 1 where failures are the rarer event; how many of that are expected; how long to wait for one."""
    run.clamp(count, 0, None, trials)
    likely = run.clamp(prob, 0, 1, mean)
    run.round(likely, turned)               # NaN stays
    rare = run.minimum(likely, run.rsub_Scalar(likely, 1, 1, scale), scale)
    run.mul_Tensor(trials, rare, mean)
    run.neg(run.log1p(run.neg(rare, scale), scale), scale)


def _arrived(TensorBase table, TensorBase trials, TensorBase scale, TensorBase out):
    """A success after how many trials: between arrivals lie less than so many."""
    run.ceil(run.div_Tensor(table, upright(scale), table), table)
    times = summed(run.clamp(table, 1, None, table), space_for(out, ARRIVALS))
    total(run.le_Tensor(times, upright(trials), times), out)


def _successes(TensorBase trials, TensorBase turned, TensorBase out):
    run.addcmul(out, turned, run.sub_Tensor(trials, out, 2, trials), 1, out)
