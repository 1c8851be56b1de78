"""Decompositions of matrices of low rank by random projections: Halko, Martinsson and Tropp 2011, algorithm 5.1."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.random_factories import randn as _randn
from mindtorch._ops.composite import _require_tensors
from mindtorch._ops.composite_linalg import linalg_svd, turned

_matmul = _OPS["matmul"]


def _orthonormal(matrix):
    return _ATEN["linalg_qr"](matrix)[0]


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) of the q largest singular values of A, or of A - M: A is about U diag(S) V^H."""
    _require_tensors("svd_lowrank", A=A)
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    A = A if M is None else A - M
    wide = rows < columns
    tall = turned(A) if wide else A
    basis = _orthonormal(_matmul(tall, _randn(tall.shape[-1], q, dtype=A.dtype, device=A.device)))
    for _ in range(niter):
        basis = _orthonormal(_matmul(tall, _orthonormal(_matmul(turned(tall), basis))))
    U, S, Vh = linalg_svd(_matmul(turned(basis), tall), False)
    U, V = _matmul(basis, U), turned(Vh)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components: svd_lowrank of A, its columns centred unless told otherwise."""
    _require_tensors("pca_lowrank", A=A)
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point():
        raise ValueError(f"pca_lowrank input must have a floating-point dtype, but got {A.dtype}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


FUNCTIONS = {"svd_lowrank": svd_lowrank, "pca_lowrank": pca_lowrank}
METHODS = {}
