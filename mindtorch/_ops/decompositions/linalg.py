"""Linear algebra by the factorisations that ACLNN has."""
from mindtorch._core.errors import LinAlgError
from mindtorch._core.tensor.dtype import float64, int32
from mindtorch._ops.operators import ops


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
    solution = ops.triangular_solve(Q.mT @ B, R)[0]
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
