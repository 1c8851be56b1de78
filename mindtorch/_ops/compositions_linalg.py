"""Linear algebra for rows whose npu column is a formula: what ACLNN lacks, by what it has."""
from mindtorch._core._gen import direct as run
from mindtorch._core.errors import LinAlgError
from mindtorch._core.scratch import room
from mindtorch._ops.derivatives import ops
from mindtorch._type_info import finfo


def _turned(matrix):
    return matrix.transpose(-1, -2).conj()


def determinant(A, out):
    """From the determinant's logarithm."""
    log = ops.empty_like(out, dtype=out.dtype.to_real()) if out.is_complex() else room(out)
    run.linalg_slogdet(A, out, log)
    size = run.exp(log, log)
    return run.mul_Tensor(out, size.to(out.dtype) if out.is_complex() else size, out)


def solved_by_qr(A, B, left, check_errors, info):
    """Q R X = B, as stable as LU. Singular is a matrix whose R has an element on its diagonal below rounding."""
    if B.dim() == 1 or B.shape == A.shape[:-1]:
        result, info = solved_by_qr(A, B.unsqueeze(-1), left, check_errors, info)
        return result.squeeze(-1), info
    if not left:
        result, info = solved_by_qr(A.transpose(-1, -2), B.transpose(-1, -2), True, check_errors, info)
        return result.transpose(-1, -2), info
    q, r = ops.linalg_qr(A)
    info = _first_zero(r, info)
    if check_errors and info.numel() and bool((info != 0).any().item()):
        at = int(info.reshape(-1).nonzero()[0].item())
        where = f"(Batch element {at}): " if info.dim() else ""
        raise LinAlgError(f"linalg.solve: {where}The solver failed because the input matrix is singular.")
    return ops.triangular_solve(_turned(q) @ B, r, True)[0], info


def _first_zero(r, info):
    """Per matrix the place of the first 0 on the diagonal, counted from 1; 0 where there is none."""
    diagonal = r.diagonal(0, -2, -1).abs()
    if diagonal.shape[-1] == 0:
        return info.zero_()
    limit = diagonal.amax(-1, keepdim=True).mul_(finfo(diagonal.dtype).eps)
    found, place = (diagonal <= limit).long().max(-1)           # 1 and the first place of it, where there is one
    return info.copy_(place.add_(1).mul_(found))
