"""Formulas along a dimension. See compositions.py."""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from mindtorch._core._gen cimport direct as run
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.scalar cimport Long
from mindtorch._core.space cimport Space, inserted, part, shape_of, space_for, upright
from mindtorch._core.tensor cimport Shape, TensorBase, empty_tensor, make_plain


cdef TensorBase places(Space space, Shape *shape):
    return space.cut(shape, 1, Long)


cdef TensorBase numbers_along(int dim, Shape *shape, Space space):
    """0, 1, ... in that dimension, once."""
    cdef Shape line
    cdef Shape alone
    cdef int i
    line.ndim = 1
    line.sizes[0] = shape.sizes[dim]
    numbers = run.arange_start_step(0, line.sizes[0], 1, places(space, &line))
    for i in range(shape.ndim):
        alone.sizes[i] = 1
    alone.sizes[dim] = line.sizes[0]
    return make_plain(numbers.storage, Long, shape.ndim, alone.sizes, NULL, numbers.offset)


def most_frequent(TensorBase self, int64_t dim, bint keepdim, TensorBase best, TensorBase place):
    """The smallest of the most frequent elements of each line, and the place of the last one."""
    cdef Shape shape
    if self.ndim == 0:
        return self, place.zero_()
    shape_of(&shape, self)
    space = space_for(self, 1 + 6 * 8 // ITEMSIZE[<int>self.dtype])
    values, origin, start, other = space.room(), places(space, &shape), places(space, &shape), places(space, &shape)
    numbers = numbers_along(dim, &shape, space)
    run.sort_stable(self, True, dim, False, values, origin)
    # The place where the run of equal elements begins that a place is in: its own where one begins, else the last one.
    run.ne_Tensor(part(values, dim, 1, shape.sizes[dim] - 1), part(values, dim, 0, shape.sizes[dim] - 1),
                  part(start, dim, 1, shape.sizes[dim] - 1))
    run.mul_Tensor(start, numbers, start)
    run.cummax(start, dim, other, places(space, &shape))
    run.sub_Tensor(numbers, other, 1, other)
    shape.sizes[dim] = 1
    last = run.argmax(other, (dim,), True, places(space, &shape))
    run.gather(values, dim, last, False, best if keepdim else inserted(best, dim))
    run.gather(origin, dim, last, False, place if keepdim else inserted(place, dim))
    return best, place


def one_hot_in(TensorBase out, TensorBase self):
    """1 where the last dimension's index is the element."""
    return run.scatter_value(run.zero_(out), self.ndim, upright(self), 1, out)


cdef enum:
    REACH = 16          # neighbours that one operator adds up


def log_sums(TensorBase self, int dim, TensorBase out):
    """log of the running sum of exponentials: sums over 16, 256, ... neighbours, none of which overflows."""
    cdef int64_t size, step = 1, width
    if self.ndim == 0:
        return self
    size = self.sizes[dim]
    while True:
        width = min(REACH, (size + step - 1) // step)
        terms = neighbours(self, dim, width, step)
        step *= width
        if step >= size:
            return run.logsumexp(terms, (self.ndim,), False, out)
        self = run.logsumexp(terms, (self.ndim,), False, like_memory(self))


cdef TensorBase like_memory(TensorBase x):
    cdef Shape shape
    shape_of(&shape, x)
    return empty_tensor(&shape, x.dtype, x.device_type, x.device_index)


cdef TensorBase neighbours(TensorBase x, int dim, int64_t width, int64_t step):
    """For each element so many, `step` apart along `dim`, the last of which it is; -infinity lies before all."""
    cdef Shape shape
    cdef Shape strides
    cdef int i
    cdef list sides = [0] * (2 * x.ndim)
    shape_of(&shape, x)
    shape.sizes[dim] += step * (width - 1)
    sides[2 * (x.ndim - 1 - dim)] = step * (width - 1)
    padded = run.constant_pad_nd(x, sides, -INFINITY, empty_tensor(&shape, x.dtype, x.device_type, x.device_index))
    shape.sizes[dim] = x.sizes[dim]
    for i in range(x.ndim):
        strides.sizes[i] = padded.strides[i]
    shape.sizes[x.ndim] = width
    strides.sizes[x.ndim] = step * padded.strides[dim]
    return make_plain(padded.storage, padded.dtype, x.ndim + 1, shape.sizes, strides.sizes, 0)
