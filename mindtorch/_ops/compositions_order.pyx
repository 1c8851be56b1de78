"""Formulas of what goes by the order of elements. See compositions.py."""
from libc.stdint cimport int64_t

from mindtorch._core._gen cimport direct as run
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.scalar cimport Long
from mindtorch._core.space cimport Space, inserted, part, space_for
from mindtorch._core.tensor cimport Shape, TensorBase, make_plain


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
    cdef int i
    if self.ndim == 0:
        return self, place.zero_()
    shape.ndim = self.ndim
    for i in range(self.ndim):
        shape.sizes[i] = self.sizes[i]
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
