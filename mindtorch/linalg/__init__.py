"""torch.linalg: linear algebra."""
# ruff: noqa: F401 - what is imported here is what the namespace consists of
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.errors import LinAlgError
from mindtorch._core.python.torch_function import publish as _publish
from mindtorch._core.tensor.views import FUNCTIONS as _VIEWS
from mindtorch._ops.composite.linalg import FUNCTIONS as _COMPOSITES
from mindtorch._ops.composite.linalg import (
    cond,
    eigvals,
    householder_product,
    ldl_factor,
    lstsq,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    matrix_exp,
    matrix_norm,
    matrix_rank,
    multi_dot,
    pinv,
    solve,
    solve_ex,
    solve_triangular,
    svdvals,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
    vector_norm,
)
from mindtorch._ops.composite.linalg import linalg_norm as norm
from mindtorch._ops.composite.linalg import linalg_svd as svd

cholesky, cholesky_ex, cross = _ATEN["linalg_cholesky"], _ATEN["linalg_cholesky_ex"], _ATEN["linalg_cross"]
det = _ATEN["linalg_det"]
eig, eigh, eigvalsh = _ATEN["linalg_eig"], _ATEN["linalg_eigh"], _ATEN["linalg_eigvalsh"]
ldl_factor_ex, ldl_solve = _ATEN["linalg_ldl_factor_ex"], _ATEN["linalg_ldl_solve"]
inv, inv_ex, qr, slogdet = _ATEN["linalg_inv"], _ATEN["linalg_inv_ex"], _ATEN["linalg_qr"], _ATEN["linalg_slogdet"]


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of a batch of matrices, as a view."""
    return _VIEWS["diagonal"](A, offset, dim1, dim2)


def matmul(input, other, *, out=None):
    """torch.matmul under another name."""
    return _OPS["matmul"](input, other, out=out)


def matrix_power(input, n, *, out=None):
    """torch.matrix_power under another name."""
    return _COMPOSITES["matrix_power"](input, n, out=out)


_publish(globals(), module="torch._C._linalg", prefix="linalg_")
