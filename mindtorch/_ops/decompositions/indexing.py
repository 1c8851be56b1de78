"""Operators that move elements, for dtypes that ACLNN does not move, or order."""
from math import nan

from mindtorch._core.tensor.dtype import int64
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


def sort_by_bits(self, stable, dim, descending):
    """float64, by integers of the same order: the bits, which negative numbers have inverted. NaN is the largest."""
    bits = ops.where(self.isnan(), nan, self + 0.0).view(int64)        # -0 + 0 is 0
    order = ops.sort(bits ^ ((bits >> 63) & (2 ** 63 - 1)), stable=bool(stable), dim=dim, descending=descending)[1]
    return self.gather(dim, order) if self.ndim else self, order
