"""Linear algebra by the factorisations that ACLNN has."""
from mindtorch._core.errors import LinAlgError
from mindtorch._core.tensor.dtype import float64, int32
from mindtorch._ops.operators import ops

_MOST_PRODUCTS = 1 << 22        # elements that matmul_by_sums multiplies at a time


def matmul_by_sums(A, B):
    """The product of matrices, or batches of them, of dtypes that ACLNN does not multiply: float64, complex, integers.

    Elements are multiplied and summed, for as many columns of B at a time as memory allows.
    """
    if B.ndim == 1:
        return (A * B).sum(-1)
    if A.ndim == 1:
        return (A.unsqueeze(-1) * B).sum(-2)
    columns = max(1, _MOST_PRODUCTS // max(1, A.numel()))
    return ops.cat([(A.unsqueeze(-2) * part.mT.unsqueeze(-3)).sum(-1) for part in B.split(columns, -1)], -1)


def add_scaled(self, product, beta, alpha):
    """beta self + alpha product. Where beta is 0, NaN and infinities in `self` do not count."""
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + self * beta


def det_by_slogdet(A):
    """From the determinant's logarithm."""
    sign, log = ops.linalg_slogdet(A)
    return sign * log.exp()


def solve_by_qr(A, B, left, check_errors):
    """Solves Q R X = B. A matrix counts as singular where an element on the diagonal of R is below rounding."""
    is_vector = B.ndim == 1 or B.shape == A.shape[:-1]
    if is_vector:
        B = B.unsqueeze(-1)
    if not left:
        A, B = A.mT, B.mT
    Q, R = ops.linalg_qr(A)
    info = _first_zero(R.diagonal(dim1=-2, dim2=-1))
    if check_errors:
        _require_regular(info)
    solution = ops.triangular_solve(Q.mH @ B, R)[0]
    if not left:
        solution = solution.mT
    return solution.squeeze(-1) if is_vector else solution, info


def _first_zero(diagonal):
    """For each matrix the index, from 1, of the first 0 on the diagonal; 0 where there is none."""
    if not diagonal.numel():
        return diagonal.new_zeros(diagonal.shape[:-1], dtype=int32)
    size = diagonal.abs()
    epsilon = 2.0 ** -52 if size.dtype is float64 else 2.0 ** -23
    found, place = (size <= size.amax(-1, True) * epsilon).to(int32).max(-1)
    return found * (place + 1)


def _require_regular(info):
    """Raises for the first matrix that is singular."""
    if info.numel() and bool((info != 0).any().item()):
        at = int(info.reshape(-1).nonzero()[0].item())
        where = f"(Batch element {at}): " if info.dim() else ""
        raise LinAlgError(f"linalg.solve: {where}The solver failed because the input matrix is singular.")
