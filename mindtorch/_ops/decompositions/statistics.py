"""Operators along a dimension: the most frequent element, running sums in logarithms."""
from math import prod

from mindtorch._core.tensor.dtype import int64
from mindtorch._ops.operators import ops


def mode_by_runs(self, dim, keepdim):
    """Along a dimension: the smallest of the most frequent elements, and the index of its last occurrence."""
    if self.ndim == 0:
        return self, self.new_zeros((), dtype=int64)
    values, origin = ops.sort(self, dim=dim, stable=True)
    size = self.shape[dim]
    places = ops.arange(size, device=self.device)
    places = places.view([size if d == dim % self.ndim else 1 for d in range(self.ndim)])
    # For each element of the sorted tensor, the index at which its run of equal elements begins.
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


# --- losses ----------------------------------------------------------------------------------------------------------

def multilabel_margin_backward(grad_output, self, target, reduction, is_target):
    """Of each pair within the margin, 1 for the class that is no label and -1 for the label, over the classes."""
    rows, target, is_target = (x.reshape(-1, self.shape[-1] if self.ndim else 1) for x in (self, target, is_target))
    scale = 1 / (rows.numel() if reduction == 1 else rows.shape[1])
    is_label = (target.cummin(1)[0] >= 0).to(rows.dtype)            # up to the first negative one
    weight = is_label * (grad_output.unsqueeze(-1) if grad_output.ndim else grad_output) * scale
    label = target.clamp(min=0)
    own = rows.gather(1, label)
    pairs = (rows.unsqueeze(1) > own.unsqueeze(2) - 1) * weight.unsqueeze(2) * (1 - is_target).unsqueeze(1)
    return pairs.sum(1).scatter_add(1, label, -pairs.sum(2)).reshape(self.shape)


# --- indexing --------------------------------------------------------------------------------------------------------

def index_fill_by_index_put(self, dim, index, value):
    """`value`, a tensor, in the slices of `dim` that index names."""
    result = self.clone()
    target = result if result.ndim else result.view(1)
    target[(slice(None),) * (dim % target.ndim) + (index,)] = value
    return result


def one_hot_by_scatter(self, shape):
    """1 where the index along the last dimension equals the element."""
    return ops.zeros(shape, dtype=int64, device=self.device).scatter_(-1, self.unsqueeze(-1), 1)


def eye_by_diagonal(self):
    """Ones on the diagonal of zeros, in place."""
    self.zero_().diagonal().fill_(1)
    return self


def max_unpool_by_scatter(self, indices, output_size):
    """Zeros, with each element at its flat index in the last dimensions."""
    dims, lead = len(output_size), self.shape[:-len(output_size)]
    flat = self.new_zeros((*lead, prod(output_size))).scatter(-1, indices.flatten(-dims), self.flatten(-dims))
    return flat.reshape(*lead, *output_size)
