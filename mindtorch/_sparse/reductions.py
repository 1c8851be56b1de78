"""Sums of sparse tensors, and softmax over the elements that they hold."""
from mindtorch import sparse_coo
from mindtorch._ops.operators import ops
from mindtorch._sparse.tensors import (
    coalesce,
    flatten,
    indices_of,
    make,
    refuse,
    rows_of,
    sparse_dims,
    sum_at,
    to_coo,
    to_layout,
    values_of,
    with_values,
)


def wrapped_dims(dim, ndim):
    """The dimensions counted from 0; all of them for None and ()."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim or range(ndim))
    for each in dims:
        if not -ndim <= each < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
                             f"{each})")
    return tuple(each % ndim for each in dims)


def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum over dimensions: dense where none is left that has coordinates."""
    values = values_of(input)
    dtype = dtype or values[:0].sum().dtype
    dims = wrapped_dims(dim, input.dim())
    if len(dims) == input.dim() and not keepdim:
        return values.sum(dtype=dtype)
    if input.layout is not sparse_coo:
        if not keepdim:
            raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return to_layout(sum(to_coo(input), dims, True, dtype=dtype), input.layout)
    input = coalesce(input)
    values, indices, first = values_of(input), indices_of(input)[0], sparse_dims(input)
    inner = tuple(each - first + 1 for each in dims if each >= first)
    values = values.sum(inner, keepdim=keepdim, dtype=dtype) if inner else values.to(dtype)
    kept = [each for each in range(first) if each not in dims]
    sizes = [1 if each in dims else size for each, size in enumerate(input.shape) if keepdim or each not in dims]
    if not kept and not keepdim:
        return values.sum(0)
    if keepdim:
        rows = [ops.zeros_like(row) if each in dims else row for each, row in enumerate(indices.unbind(0))]
        indices = ops.stack(rows)
    else:
        indices = rows_of(indices, kept)
    made = make(sparse_coo, (indices,), values, sizes, len(kept) == first and bool(input.is_coalesced()))
    return coalesce(made) if len(kept) < first else made


def _groups(sparse, dim):
    """For each element the number of its row along `dim`, and how many rows have elements."""
    indices = indices_of(sparse)[0]
    others = [each for each in range(indices.shape[0]) if each != dim]
    if not others:
        return ops.zeros((indices.shape[1],), dtype=indices.dtype, device=indices.device), 1
    sizes = [sparse.shape[each] for each in others]
    rows, places = ops.unique(flatten(rows_of(indices, others), sizes), return_inverse=True)
    return places, rows.shape[0]


def _normalized(input, dim, dtype, logarithm):
    if input.layout is not sparse_coo:
        raise RuntimeError(f"softmax expects a sparse COO tensor, got layout {input.layout}")
    dim, = wrapped_dims(dim, input.dim())
    sparse = coalesce(input)
    values = values_of(sparse) if dtype is None else values_of(sparse).to(dtype)
    first = sparse_dims(sparse)
    if dim >= first:
        function = ops.log_softmax if logarithm else ops.softmax
        return with_values(sparse, function(values, dim - first + 1))
    places, number = _groups(sparse, dim)
    index = places.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    lowest = ops.full((number, *values.shape[1:]), -float("inf"), dtype=values.dtype, device=values.device)
    highest = lowest.scatter_reduce(0, index, values.detach(), "amax").index_select(0, places)
    shifted = values - highest
    sums = sum_at(shifted.exp(), places, number).index_select(0, places)
    return with_values(sparse, shifted - sums.log() if logarithm else shifted.exp() / sums)


def softmax(input, dim, *, dtype=None):
    """exp(x) / sum(exp(x)) over the elements that are there; those that are not count as -inf.

    Arguments:
        input: the sparse tensor
        dim: the dimension
        dtype: the dtype of the result; None means that of the input

    Example:
        >>> torch.sparse.softmax(torch.eye(2).to_sparse(), dim=1).to_dense()
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _normalized(input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax.

    Arguments:
        input: the sparse tensor
        dim: the dimension
        dtype: the dtype of the result; None means that of the input

    Example:
        >>> torch.sparse.log_softmax(torch.eye(2).to_sparse(), dim=1).to_dense()
        tensor([[0., 0.],
                [0., 0.]])
    """
    return _normalized(input, dim, dtype, True)


def any(input, dim=None, keepdim=False, *, out=None):
    """Whether an element is not 0."""
    if dim is not None:
        refuse("any.dim", input)
    return values_of(input).any()


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of the elements."""
    return ops.linalg_vector_norm(values_of(coalesce(to_coo(input))), 2 if p in ("fro", None) else p)

