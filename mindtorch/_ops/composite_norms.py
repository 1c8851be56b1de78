"""Norms of vectors and matrices, written with linalg.vector_norm and singular values."""
from math import inf

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.autocast import casting
from mindtorch._core.tensor import TensorBase
from mindtorch._ops.composite_linalg import require_matrices, svdvals, with_out

_vector_norm = _ATEN["linalg_vector_norm"]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """(sum |x|^ord)^(1 / ord) over some or all dimensions, flattened; inf, -inf and 0 as limits."""
    return _vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


def _two_dims(A, dim):
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    first, second = (_wrapped(d, A.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _wrapped(dim, count):
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % count


@with_out
@casting("linalg_matrix_norm")
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """"fro", "nuc", or a number: 2 the largest singular value, 1 and inf the largest sum of a column or a row."""
    require_matrices(A, "linalg.matrix_norm")
    first, second = _two_dims(A, dim)
    if dtype is not None:
        A = A.to(dtype)
    if ord == "fro":
        return _vector_norm(A, 2, (first, second), keepdim)
    if isinstance(ord, str) and ord != "nuc":
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "nuc" or abs(ord) == 2:
        rest = [d for d in range(A.dim()) if d not in (first, second)]
        values = svdvals(A.permute([*rest, first, second]))
        result = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
        if keepdim:
            for d in sorted((first, second)):
                result = result.unsqueeze(d)
        return result
    if abs(ord) not in (1, inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, compared = (first, second) if abs(ord) == 1 else (second, first)
    sums = A.abs().sum(summed, keepdim=True)
    result = sums.amax(compared, keepdim=True) if ord > 0 else sums.amin(compared, keepdim=True)
    return result if keepdim else result.squeeze(max(first, second)).squeeze(min(first, second))


@with_out
def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """vector_norm or matrix_norm, as `dim` and `ord` ask for."""
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dim) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    elif ord is not None and A.dim() not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{A.dim()}D.")
    if ord is not None and (len(dim) if dim is not None else A.dim()) == 2:
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return _vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@with_out
@casting("norm")
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """torch.norm: of vectors unless p is "nuc"; two dims together are one vector."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"norm(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if p == "nuc":
        return matrix_norm(input, p, (0, 1) if dim is None and input.dim() == 2 else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    return _vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


@with_out
def frobenius_norm(input, dim, keepdim=False):
    """The 2-norm over one or two dimensions, or over all where `dim` is empty."""
    return _vector_norm(input, 2, dim if isinstance(dim, int) or len(dim) else None, keepdim)


@with_out
def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of the singular values."""
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


def norm_except_dim(v, pow=2, dim=0):
    """The norm of each slice of `dim`, the other dimensions being 1; of the whole tensor for dim=-1."""
    if dim == -1:
        return _vector_norm(v, pow)
    if dim not in (0, v.dim() - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    rest = [d for d in range(v.dim()) if d != dim]
    return _vector_norm(v, pow, rest, True) if rest else v.abs()       # no dimension at all would mean every one


FUNCTIONS = {"norm": norm, "frobenius_norm": frobenius_norm, "nuclear_norm": nuclear_norm,
             "norm_except_dim": norm_except_dim}
METHODS = {"norm": norm}
