"""The most frequent element, running sums in logarithms, histograms."""
from math import inf, isfinite, prod

from mindtorch._core.tensor.dtype import float64, int64
from mindtorch._ops.operators import ops


def histc_by_bincount(self, bins, low, high):
    """Counts in equal bins; equal bounds mean the extreme elements, widened by 1 if these are equal, too."""
    if not self.is_floating_point():
        raise NotImplementedError(f'"histogram" not implemented for {self.dtype} on npu')
    if low == high and self.numel():
        low, high = self.min().item(), self.max().item()
        if not (isfinite(low) and isfinite(high)):
            raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    inside = self[ops.logical_and(self >= low, self <= high)]
    return ops.bincount(((inside - low) / (high - low) * bins).long().clamp(max=bins - 1), minlength=bins)


def mode_by_runs(self, dim, keepdim):
    """Along a dimension: the smallest of the most frequent elements, and the index of its last occurrence."""
    if self.ndim == 0:
        return self, self.new_zeros((), dtype=int64)
    values, origin = ops.sort(self, dim=dim, stable=True)
    size = self.shape[dim]
    positions = ops.arange(size, device=self.device)
    positions = positions.view([size if d == dim % self.ndim else 1 for d in range(self.ndim)])
    # For each element of the sorted tensor, the index at which its run of equal elements begins.
    begins = ops.zeros_like(origin)
    begins.narrow(dim, 1, size - 1).copy_(values.narrow(dim, 1, size - 1) != values.narrow(dim, 0, size - 1))
    length = positions - (begins * positions).cummax(dim)[0]
    last = length.argmax(dim, True)
    found, position = values.gather(dim, last), origin.gather(dim, last)
    return (found, position) if keepdim else (found.squeeze(dim), position.squeeze(dim))


def _scan_by_doubling(self, dim, combine):
    """A running sum by `combine`: over 2, 4, 8, ... neighbours."""
    if self.ndim == 0:
        return self
    size, step = self.shape[dim], 1
    while step < size:
        first, rest = self.narrow(dim, 0, step), self.narrow(dim, step, size - step)
        self = ops.cat([first, combine(rest, self.narrow(dim, 0, size - step))], dim)
        step *= 2
    return self


def logcumsumexp_by_doubling(self, dim):
    """log of the running sum of exponentials, none of which overflows."""
    return _scan_by_doubling(self, dim, ops.logaddexp)


def cumprod_by_doubling(self, dim):
    return _scan_by_doubling(self, dim, ops.mul)


def variance_and_mean(self, dim, correction, keepdim):
    """Squared distances from the mean, over the count less `correction` (1 where None)."""
    dim = dim or tuple(range(self.ndim))
    mean = self.mean(dim, True)
    distance = self - mean
    squares = (distance * distance.conj()) if self.is_complex() else distance * distance
    squares = ops.real(squares) if self.is_complex() else squares
    count = prod(self.shape[d] for d in dim if self.ndim) - (1 if correction is None else correction)
    total = squares.sum(dim, keepdim)
    return total / ops.full_like(total, max(count, 0)), mean if keepdim else mean.sum(dim)


def deviation_and_mean(self, dim, correction, keepdim):
    variance, mean = variance_and_mean(self, dim, correction, keepdim)
    return variance.sqrt(), mean


def logsumexp_by_exp(self, dim, keepdim):
    """The exponentials of distances from the largest, which do not overflow."""
    dim = dim or tuple(range(self.ndim))
    largest = 0
    if self.numel():
        largest = (ops.real(self) if self.is_complex() else self).amax(dim, True)
        largest = ops.where(largest.isinf(), 0, largest)
    total = (self - largest).exp().sum(dim, True).log() + largest
    return total if keepdim else total.sum(dim)


def norm_by_sums(self, order, dim, keepdim):
    """The norm of vectors: sums of powers, or the extreme."""
    size, dim = self.abs(), dim or tuple(range(self.ndim))
    if order in (inf, -inf):
        return size.amax(dim, keepdim) if order > 0 else size.amin(dim, keepdim)
    if order == 0:
        return (size != 0).to(size.dtype).sum(dim, keepdim)
    return size.sum(dim, keepdim) if order == 1 else size.pow(order).sum(dim, keepdim).pow(1 / order)


def _shortened(vectors, order, dim, most):
    """The vectors along `dim`, a tuple, that are longer than `most` brought to that length."""
    norm = ops.linalg_vector_norm(vectors, order, dim, True)
    return vectors * ops.where(norm > most, most / (norm + 1e-7), 1)


def renorm_by_norms(self, p, dim, maxnorm):
    return _shortened(self, p, tuple(d for d in range(self.ndim) if d != dim % self.ndim), maxnorm)


def embedding_renorm_by_norms(self, indices, max_norm, norm_type):
    """In place; of rows that are asked for twice both results are the same."""
    indices = indices.reshape(-1).long()
    return self.index_copy_(0, indices, _shortened(self.index_select(0, indices), norm_type, (1,), max_norm))


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


def linspace_by_parts(start, end, out):
    """linspace of complex numbers by their parts, and of integers by float64."""
    start, end = complex(start), complex(end)
    real = out.dtype.to_real() if out.is_complex() else float64

    def spaced(first, last):
        return ops.linspace(first, last, out.shape[0], dtype=real, device=out.device)
    numbers = spaced(start.real, end.real)
    return out.copy_(ops.complex(numbers, spaced(start.imag, end.imag)) if out.is_complex() else numbers)


def max_unpool_by_scatter(self, indices, output_size):
    """Zeros, with each element at its flat index in the last dimensions."""
    dims, lead = len(output_size), self.shape[:-len(output_size)]
    flat = self.new_zeros((*lead, prod(output_size))).scatter(-1, indices.flatten(-dims), self.flatten(-dims))
    return flat.reshape(*lead, *output_size)
