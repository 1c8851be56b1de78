"""Formulas of operators that reach elements through index tensors. derivatives.py says what all formulas do."""
from math import prod

from mindtorch._ops.derivatives import ops


def index_put_backward(grad, indices):
    """Of the values: the gradient where they went."""
    return grad[tuple(slice(None) if index is None else index for index in indices)]


def gather_backward(grad, shape, dim, index):
    """The gradient added up where the elements came from."""
    zeros = grad.new_zeros(shape)
    return zeros.scatter_add(dim, index, grad) if index.numel() else zeros


def scatter_backward_src(grad, dim, index, shape):
    """Of what was scattered: the gradient where it went, 0 for what index did not reach."""
    part = grad.gather(dim, index)
    return _placed(part, shape)


def index_add_backward_source(grad, dim, index, shape, alpha):
    """Of what was added: the slices of the gradient."""
    part = grad.index_select(dim, index).reshape(shape)
    return part if alpha == 1 else part * alpha


def _mean_count(grad, shape, dim, index, include_self):
    """How many elements each mean was taken over."""
    start = grad.new_ones(grad.shape) if include_self else grad.new_zeros(grad.shape)
    count = start.scatter_add(dim, index, grad.new_ones(shape))
    return count.masked_fill(count == 0, 1)


def _extremum_share(grad, self, dim, index, src, result):
    """The gradient divided among all elements that equal the extremum."""
    hits = (self == result).to(grad.dtype).scatter_add(dim, index, (src == result.gather(dim, index)).to(grad.dtype))
    return grad / hits


def scatter_reduce_backward_self(grad, self, dim, index, src, reduce, include_self, result):
    """Of the tensor that was reduced into."""
    src = _covered(src, index)
    if reduce == "sum":
        found = grad
    elif reduce == "mean":
        found = grad / _mean_count(grad, index.shape, dim, index, include_self)
    elif reduce == "prod":
        nonzero = self.masked_fill(self == 0, 1)
        found = grad * nonzero.scatter_reduce(dim, index, src, reduce, include_self=include_self) / nonzero
    else:
        found = (self == result) * _extremum_share(grad, self, dim, index, src, result)
    return found if include_self else found.scatter(dim, index, 0)


def scatter_reduce_backward_src(grad, self, dim, index, src, reduce, include_self, result):
    """Of what was reduced."""
    shape, src = src.shape, _covered(src, index)
    if reduce == "sum":
        found = grad.gather(dim, index)
    elif reduce == "mean":
        found = (grad / _mean_count(grad, index.shape, dim, index, include_self)).gather(dim, index)
    elif reduce == "prod":
        found = _product_share(grad, self, dim, index, src, include_self, result)
    else:
        share = _extremum_share(grad, self, dim, index, src, result).gather(dim, index)
        found = (src == result.gather(dim, index)) * share
    return _placed(found, shape)


def _placed(part, shape):
    """A gradient of the part of src that index reaches, 0 for the rest."""
    if tuple(part.shape) == tuple(shape):
        return part
    if not shape:
        return part.reshape(())
    whole = part.new_zeros(shape)
    whole[tuple(slice(0, size) for size in part.shape)].copy_(part)
    return whole


def _covered(src, index):
    """The part of src that index reaches."""
    if src.dim() == 0:
        return src.reshape(index.shape)
    return src if src.shape == index.shape else src[tuple(slice(0, size) for size in index.shape)]


def _product_share(grad, self, dim, index, src, include_self, result):
    """The product of all others: a quotient, but where the element is the only 0 of its place."""
    zero = src == 0
    zeros = self.new_zeros(self.shape).scatter_add(dim, index, zero.to(self.dtype)).gather(dim, index)
    alone = zero & (zeros == 1)
    others = self.scatter_reduce(dim, index, src.masked_fill(alone, 1), "prod", include_self=include_self)
    quotient = (grad * result).gather(dim, index) / src.masked_fill(zero, 1)
    return ops.where(alone, (grad * others).gather(dim, index), quotient)


# --- slices, and masks -----------------------------------------------------------------------------------------------

def slices_at(like, dim, index):
    """A mask, True for the slices of `dim` that index names."""
    size = like.shape[dim] if like.dim() else 1
    chosen = ops.zeros((size,), dtype=index.dtype, device=index.device).index_fill(0, index, 1) != 0
    return chosen.reshape((-1,) + (1,) * (like.dim() - dim - 1)) if like.dim() else chosen.reshape(())


def index_fill_backward_value(grad, dim, index):
    """Of the value: the sum over the slices that it went to, each counted once."""
    return ops.where(slices_at(grad, dim, index), grad, 0).sum()


def masked_scatter_backward(grad, mask, shape):
    """Of what was scattered: the gradient where the mask is true, in order, 0 for what was left over."""
    taken = grad.masked_select(mask)
    return ops.constant_pad_nd(taken, (0, prod(shape) - taken.numel())).reshape(shape)
