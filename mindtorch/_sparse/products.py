"""Products of matrices of which one or both are sparse."""
from mindtorch import bool as bool_
from mindtorch import sparse_coo, sparse_csr, strided
from mindtorch._ops.operators import ops
from mindtorch._sparse.tensors import (
    COMPRESSED,
    coalesce,
    compress,
    coordinates,
    indices_of,
    is_sparse,
    make,
    positions,
    refuse,
    sum_at,
    to_coo,
    to_layout,
    values_of,
)

_AT_ONCE = 1 << 18      # elements of a dense product that are in memory before they are added


def _check_matrices(a, b, name="mm"):
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError(f"{name}: Expected two matrices, but got {a.dim()}D and {b.dim()}D tensors")
    if a.shape[1] != b.shape[0] and is_sparse(a) and not is_sparse(b):
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype:
        names = [str(each.new_zeros(0, layout=strided).type()).split(".")[-1].removesuffix("Tensor") for each in (a, b)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")


def swapped(matrix):
    """The transpose of a matrix, dense or sparse."""
    if not is_sparse(matrix):
        return matrix.t()
    coo = to_coo(matrix)
    return make(sparse_coo, (indices_of(coo)[0].flip(0),), values_of(coo), coo.shape[::-1])


def _sparse_times_dense(a, b):
    (rows, columns), values = _triples(a)
    step = values.shape[0] if values.dtype is bool_ else _AT_ONCE // max(b.shape[1], 1)
    product = None
    for row, column, value in zip(*(each.split(max(step, 1)) for each in (rows, columns, values)), strict=True):
        terms = value.unsqueeze(1) * b.index_select(0, column)
        product = sum_at(terms, row, a.shape[0]) if product is None else product.index_add_(0, row, terms)
    return product


def _triples(matrix):
    indices, values = coordinates(matrix)
    if indices.shape[0] != 2 or values.dim() != 1:
        refuse("mm", matrix)
    return indices.unbind(0), values


def pairs(keys, wanted, size):
    """(places in `keys`, places in `wanted`) of all pairs of equal numbers below `size`, in the order of `wanted`."""
    order = keys.argsort(stable=True)
    starts = compress(keys, size)
    counts = starts.index_select(0, wanted + 1) - starts.index_select(0, wanted)
    which = ops.arange(wanted.shape[0], device=wanted.device).repeat_interleave(counts)
    first = (counts.cumsum(0) - counts).index_select(0, which)
    inside = ops.arange(which.shape[0], device=wanted.device) - first
    return order.index_select(0, starts.index_select(0, wanted).index_select(0, which) + inside), which


def _sparse_times_sparse(a, b):
    (rows, inner), left = _triples(a)
    (shared, columns), right = _triples(b)
    there, here = pairs(shared, inner, a.shape[1])
    indices = ops.stack([rows.index_select(0, here), columns.index_select(0, there)])
    values = left.index_select(0, here) * right.index_select(0, there)
    product = coalesce(make(sparse_coo, (indices,), values, (a.shape[0], b.shape[1])))
    return product if a.layout is sparse_coo else to_layout(product, sparse_csr)


def mm(input, mat2, *, out=None):
    """The product of two matrices: sparse where both are."""
    if not is_sparse(input) and not is_sparse(mat2):
        return ops.mm(input, mat2)
    _check_matrices(input, mat2)
    if is_sparse(input) and is_sparse(mat2):
        return _sparse_times_sparse(input, mat2)
    if is_sparse(input):
        return _sparse_times_dense(input, mat2)
    return _sparse_times_dense(swapped(mat2), input.t()).t()


def mv(input, vec, *, out=None):
    """The product of a sparse matrix and a vector."""
    if input.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {input.dim()}Tensor Dim: "
                           f"{vec.dim()}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return mm(input, vec.unsqueeze(1)).squeeze(1)


def matmul(input, other, *, out=None):
    """mm, mv or bmm, as the numbers of dimensions say."""
    if input.dim() == 2 and other.dim() == 1:
        return mv(input, other)
    if input.dim() == 1 and other.dim() == 2:
        return mv(swapped(other), input)
    if input.dim() == 3 and other.dim() == 3:
        return bmm(input, other)
    if is_sparse(input) and input.dim() == 2 and other.dim() > 2:
        flat = other.movedim(-2, 0)
        return mm(input, flat.reshape(flat.shape[0], -1)).reshape(input.shape[0], *flat.shape[1:]).movedim(0, -2)
    if is_sparse(other) and other.dim() == 2 and input.dim() > 2:
        return mm(input.reshape(-1, input.shape[-1]), other).reshape(*input.shape[:-1], other.shape[1])
    return mm(input, other)


def bmm(input, mat2, *, out=None):
    """The products of sparse matrices and dense ones: those of one batch are the blocks of one product."""
    if not is_sparse(input) or is_sparse(mat2):
        refuse("bmm", mat2)
    if input.layout is sparse_coo and indices_of(input)[0].shape[0] != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has "
                           f"{indices_of(input)[0].shape[0]}")
    batch, height, width = input.shape
    if mat2.dim() != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {mat2.dim()}")
    if mat2.shape[0] != batch or mat2.shape[1] != width:
        raise RuntimeError("bmm_sparse: Tensor 'self' and 'mat2' have sizes that cannot be multiplied")
    indices, values = coordinates(input)
    which, rows, columns = indices.unbind(0)
    indices = ops.stack([which * height + rows, which * width + columns])
    diagonal = make(sparse_coo, (indices,), values, (batch * height, batch * width))
    return mm(diagonal, mat2.reshape(batch * width, mat2.shape[2])).reshape(batch, height, mat2.shape[2])


def _scaled(value, factor):
    return value if factor == 1 else value * factor


def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat1 @ mat2).

    Example:
        >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.tensor([[1.0], [2.0]]))
        tensor([[2.],
                [3.]])
    """
    if is_sparse(input) and not (is_sparse(mat1) and is_sparse(mat2)):
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
    if mat1.layout is not sparse_csr and not is_sparse(mat1) and mat2.layout is sparse_coo:
        raise RuntimeError("addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have "
                           "strided layout, got 'mat1' with layout Strided and 'mat2' with layout Sparse")
    product = _scaled(mm(mat1, mat2), alpha)
    return product if beta == 0 else _scaled(input, beta) + product


def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat @ vec), of a compressed matrix."""
    if mat.layout not in COMPRESSED:
        refuse("addmv", mat)
    product = _scaled(mv(mat, vec), alpha)
    return product if beta == 0 else _scaled(input, beta) + product


def addmm_(input, mat1, mat2, *, beta=1, alpha=1):
    """addmm, into a dense input."""
    return input.copy_(addmm(input, mat1, mat2, beta=beta, alpha=alpha))


def hspmm(mat1, mat2, *, out=None):
    """The product of a sparse matrix and a dense one, as a tensor with sparse rows."""
    rows, product = coalesce(to_coo(mat1)), mm(mat1, mat2)
    present = indices_of(rows)[0][0].unique()
    return make(sparse_coo, (present.unsqueeze(0),), product.index_select(0, present), product.shape)


def smm(input, mat2):
    """The product of a sparse matrix and a dense one, as a sparse one with all elements of rows that have any."""
    rows = hspmm(input, mat2)
    numbers, values = indices_of(rows)[0][0], values_of(rows)
    width = values.shape[1]
    columns = ops.arange(width, device=values.device).repeat(numbers.shape[0])
    indices = ops.stack([numbers.repeat_interleave(width), columns])
    return make(sparse_coo, (indices,), values.reshape(-1), rows.shape)


def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat1 @ mat2), all of it sparse but mat2."""
    product = smm(mat1, mat2)
    indices = ops.cat([indices_of(input)[0], indices_of(product)[0]], 1)
    values = ops.cat([_scaled(values_of(input), beta), _scaled(values_of(product), alpha)])
    return make(sparse_coo, (indices,), values, input.shape)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta * input + alpha * (mat1 @ mat2) at the indices of `input`, a CSR tensor.

    Arguments:
        input: the sparse matrix (n, p), whose elements are computed
        mat1: the first matrix (n, m)
        mat2: the second matrix (m, p)
        beta: the factor of input
        alpha: the factor of the product
        out: a tensor to write the result to

    Example:
        >>> x = torch.eye(2).to_sparse_csr()
        >>> torch.sparse.sampled_addmm(x, torch.ones(2, 3), torch.ones(3, 2)).to_dense()
        tensor([[4., 0.],
                [0., 4.]])
    """
    if input.layout is not sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected self to have sparse csr layout, but got {input.layout}")
    indices, values, shape = indices_of(input), values_of(input), input.shape
    if input.dim() == 2 and mat1.dim() > 2:             # one matrix of indices for the whole batch
        shape = mat1.shape[:-2] + shape
        indices = tuple(each.expand(*mat1.shape[:-2], each.shape[0]) for each in indices)
        values = values.expand(*mat1.shape[:-2], values.shape[0])
    *batch, rows, columns = positions(sparse_csr, indices, values.shape).unbind(0)
    left, right = mat1[(*batch, rows)], mat2.mT[(*batch, columns)]
    products = (left * right).sum(-1).reshape(values.shape)
    return make(sparse_csr, indices, _scaled(values, beta) + _scaled(products, alpha), shape)


def reduced_mm(sparse, dense, reduce):
    """The product of a CSR matrix and a dense one with another reduction than the sum."""
    (rows, columns), values = _triples(sparse)
    terms = values.unsqueeze(1) * dense.index_select(0, columns)
    if reduce in ("sum", "mean"):
        sums = sum_at(terms, rows, sparse.shape[0])
        if reduce == "sum":
            return sums
        ones = ops.ones((rows.shape[0],), dtype=terms.dtype, device=terms.device)
        return sums / sum_at(ones, rows, sparse.shape[0]).clamp(min=1).unsqueeze(1)
    zeros = ops.zeros((sparse.shape[0], dense.shape[1]), dtype=terms.dtype, device=terms.device)
    return zeros.scatter_reduce(0, rows.unsqueeze(1).expand(terms.shape), terms, reduce, include_self=False)


def linear(input, weight, bias=None):
    """input @ weight.t() + bias, where the weight or the input is sparse."""
    product = matmul(input, swapped(weight))
    return product if bias is None else product + bias

