"""Operators that move elements, for dtypes that ACLNN does not move, or order."""
from math import nan

from mindtorch._core.tensor.dtype import bool as bool_
from mindtorch._core.tensor.dtype import float64, int64
from mindtorch._ops.decompositions.pointwise import by_parts
from mindtorch._ops.operators import ops


def cat_by_parts(tensors, dim, out):
    """complex128, as its real and imaginary parts."""
    parts = [ops.view_as_real(tensor.to(out.dtype)) for tensor in tensors if tensor.ndim != 1 or tensor.numel()]
    return ops.view_as_complex(ops.cat(parts, dim % out.ndim))


def embedding_backward_by_index_add(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The gradient of the weight of embedding: the rows of `grad`, added up by index."""
    rows, indices = grad.reshape(indices.numel(), grad.shape[-1]), indices.reshape(-1)
    like = {"dtype": grad.dtype, "device": grad.device}
    if scale_grad_by_freq:
        counts = ops.zeros(num_weights, **like).index_add(0, indices, ops.ones(len(indices), **like))
        rows = rows / counts.index_select(0, indices).unsqueeze(-1)
    if padding_idx >= 0:
        rows = rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
    return ops.zeros((num_weights, grad.shape[-1]), **like).index_add(0, indices, rows)


def _ordered_bits(self):
    """Integers of the same order as float64: the bits, which negative numbers have inverted. NaN is the largest."""
    bits = ops.where(self.isnan(), nan, self + 0.0).view(int64)        # -0 + 0 is 0
    return bits ^ ((bits >> 63) & (2 ** 63 - 1))


def sort_by_bits(self, stable, dim, descending):
    order = ops.sort(_ordered_bits(self), stable=bool(stable), dim=dim, descending=descending)[1]
    return self.gather(dim, order) if self.ndim else self, order


def index_by_parts(self, indices):
    """Complex numbers, as their real and imaginary parts."""
    return by_parts(lambda part: part[tuple(slice(None) if index is None else index for index in indices)], self)


def masked_select_by_parts(self, mask, out):
    """complex128, as its real and imaginary parts. `out` has room for all elements."""
    chosen = by_parts(lambda part: part.masked_select(mask), self)
    out.resize_(chosen.shape)
    return chosen


def index_put_by_parts(self, indices, values, accumulate):
    """Complex numbers, as their real and imaginary parts."""
    return by_parts(lambda part, of_values: part.index_put(indices, of_values, accumulate), self, values)


def unfold_backward_by_index_add(grad, input_sizes, dim, size, step):
    """The sums of the gradients of all windows for each element."""
    if not input_sizes:
        return grad.sum()
    dim %= len(input_sizes)
    starts = ops.arange(grad.shape[dim], device=grad.device) * step
    positions = (starts.unsqueeze(1) + ops.arange(size, device=grad.device)).flatten()
    return grad.new_zeros(input_sizes).index_add(dim, positions, grad.movedim(-1, dim + 1).flatten(dim, dim + 1))


def max_pool_backward_by_scatter(grad_output, self, indices, dims):
    """Each gradient at the index of the largest element, a flat index in the last `dims` dimensions."""
    flat = ops.zeros_like(self).flatten(-dims)
    return flat.scatter_add(-1, indices.flatten(-dims).long(), grad_output.flatten(-dims)).reshape(self.shape)


def kth(self, k, dim, keepdim):
    if self.dtype is not float64:
        return kth_of_sorted(self, k - 1, dim, keepdim)
    return elements_at(self, dim, keepdim, ops.kthvalue(_ordered_bits(self), k, dim=dim, keepdim=True)[1])


def elements_at(self, dim, keepdim, index):
    """The element at an index of each row along `dim`, which `index` has with size 1, and the index."""
    found = self.gather(dim, index) if self.ndim else self
    return (found, index) if keepdim or not self.ndim else (found.squeeze(dim), index.squeeze(dim))


def median_index(self, dim, ignore_nan):
    """The index of the lower median in each sorted row along `dim`, NaN last; unless ignored, of the first NaN."""
    is_nan = self.isnan() if self.is_floating_point() else ops.zeros_like(self, dtype=bool_)
    size = self.shape[dim] if self.ndim else 1
    count = is_nan.sum(dim, True)
    if ignore_nan:
        return ((size - count - 1) // 2).clamp(min=0)
    return ops.where(count > 0, size - count, (size - 1) // 2)


def median_by_sort(self, ignore_nan):
    """The median of a vector; NaN where it is empty."""
    if not self.numel():
        return self.new_full((), nan)
    return kth_of_sorted(self, median_index(self, 0, ignore_nan), 0, False)[0]


def kth_of_sorted(self, index, dim, keepdim):
    """The element at `index`, a number or a tensor, of each sorted row along `dim`, and its index in the row."""
    if not self.ndim:
        return self, ops.zeros_like(self, dtype=int64)
    values, origin = ops.sort(self, dim=dim, stable=True)
    if isinstance(index, int):
        index = values.narrow(dim, 0, 1).new_full((), index, dtype=int64).expand_as(values.narrow(dim, 0, 1))
    return elements_at(self, dim, keepdim, origin.gather(dim, index))
