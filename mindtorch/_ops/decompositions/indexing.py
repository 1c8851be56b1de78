"""Operators that reach elements through index tensors, or by their place."""
from math import prod

from mindtorch._core.dtype import int64
from mindtorch._ops.derivatives import ops


def index_fill_by_index_put(self, dim, index, value):
    """`value`, a tensor, in the slices of `dim` that index names."""
    result = self.clone()
    target = result if result.ndim else result.view(1)
    target[(slice(None),) * (dim % target.ndim) + (index,)] = value
    return result


def one_hot_by_scatter(self, shape):
    """1 where the last dimension's index is the element."""
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
