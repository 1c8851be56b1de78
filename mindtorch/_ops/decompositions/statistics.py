"""Operators along a dimension: the most frequent element, running sums in logarithms."""

from mindtorch._core.dtype import int64
from mindtorch._ops.derivatives import ops


def mode_by_runs(self, dim, keepdim):
    """The smallest of the most frequent elements of each line, and the place of the last one."""
    if self.ndim == 0:
        return self, self.new_zeros((), dtype=int64)
    values, origin = ops.sort(self, dim=dim, stable=True)
    size = self.shape[dim]
    places = ops.arange(size, device=self.device)
    places = places.view([size if d == dim % self.ndim else 1 for d in range(self.ndim)])
    # The place where the run of equal elements begins that a place is in: its own where one begins, else the last one.
    begins = ops.zeros_like(origin)
    begins.narrow(dim, 1, size - 1).copy_(values.narrow(dim, 1, size - 1) != values.narrow(dim, 0, size - 1))
    length = places - (begins * places).cummax(dim)[0]
    last = length.argmax(dim, True)
    found, place = values.gather(dim, last), origin.gather(dim, last)
    return (found, place) if keepdim else (found.squeeze(dim), place.squeeze(dim))


def logcumsumexp_by_doubling(self, dim):
    """log of the running sum of exponentials: sums over 2, 4, 8, ... neighbours, none of which overflows."""
    if self.ndim == 0:
        return self
    size, step = self.shape[dim], 1
    while step < size:
        first, rest = self.narrow(dim, 0, step), self.narrow(dim, step, size - step)
        self = ops.cat([first, ops.logaddexp(rest, self.narrow(dim, 0, size - step))], dim)
        step *= 2
    return self
