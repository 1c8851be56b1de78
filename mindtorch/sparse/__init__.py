"""torch.sparse: functions of sparse tensors."""
from mindtorch._compat.legacy_types import SPARSE_TYPES as _TYPES
from mindtorch._sparse import products as _products
from mindtorch._sparse import reductions as _reductions
from mindtorch._sparse.constructors import check_sparse_tensor_invariants, spdiags
from mindtorch._sparse.kernels import writing_out as _writing_out
from mindtorch._sparse.products import addmm
from mindtorch._sparse.reductions import log_softmax, softmax
from mindtorch._sparse.tensors import is_sparse as _is_sparse
from mindtorch._submodules import module_getattr as _module_getattr

__all__ = ["addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm",
           "softmax", "solve", "spdiags", "spsolve", "sum"]

globals().update(_TYPES)            # FloatTensor and its like

sampled_addmm = _writing_out(_products.sampled_addmm)


@_writing_out
def mm(mat1, mat2, reduce="sum", *, out=None):
    """The product of two matrices of which one or both are sparse; `reduce` says what is done in place of the sum.

    Arguments:
        mat1: the first matrix (n, m)
        mat2: the second matrix (m, p)
        reduce: how products are combined: "sum", "mean", "amax" or "amin"
        out: a tensor to write the result to

    Example:
        >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.tensor([[1.0], [2.0]]))
        tensor([[1.],
                [2.]])
    """
    if reduce == "sum":
        return _products.mm(mat1, mat2)
    return _products.reduced_mm(mat1, mat2, reduce)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor over dimensions; a number without them.

    Arguments:
        input: the tensor
        dim: the dimensions; None means all
        dtype: the dtype of the result; None means that of the input

    Example:
        >>> torch.sparse.sum(torch.eye(2).to_sparse())
        tensor(2.)
    """
    if not _is_sparse(input):
        raise RuntimeError("coalesce expected sparse coordinate tensor layout but got Strided")
    return _reductions.sum(input, dim, dtype=dtype)


def spsolve(input, other, *, left=True):
    """NotImplementedError: torch has it for CUDA alone.

    Arguments:
        input: the sparse matrix
        other: the right-hand side
        left: whether the matrix stands at the left

    Example:
        >>> torch.linalg.solve(2 * torch.eye(2).to_sparse().to_dense(), torch.ones(2))     # in its place
        tensor([0.5000, 0.5000])
    """
    raise NotImplementedError("torch.sparse.spsolve: there is no sparse solver here. Call torch.linalg.solve on "
                              "input.to_dense()")


solve = spsolve


def as_sparse_gradcheck(gradcheck):
    """`gradcheck` itself: it takes sparse inputs and outputs.

    Arguments:
        gradcheck: the function, torch.autograd.gradcheck

    Example:
        >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
        >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
        >>> check(lambda x: x.to_dense(masked_grad=False), (x,), masked=False)
        True
    """
    return gradcheck


__getattr__ = _module_getattr(__name__)
