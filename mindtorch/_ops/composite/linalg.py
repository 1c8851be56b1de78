"""torch.linalg and its older names, written with the decompositions of the table."""
import functools
from math import inf, nan, prod
from numbers import Real
from operator import index

from mindtorch import return_types
from mindtorch._core import hooks
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._core.errors import NOT_INVERTIBLE, RANK_DEFICIENT, raise_first_failure
from mindtorch._core.formats import contiguous_format
from mindtorch._core.operators.autocast import with_autocast_policy, without_autocast
from mindtorch._core.rules.infer import resize_output
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.dtype import (
    _can_cast,
    _promote_types,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
)
from mindtorch._core.tensor.dtype import bool as bool_
from mindtorch._core.tensor.factories import FUNCTIONS as _FACTORIES
from mindtorch._core.tensor.factories import randn as _randn
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._core.tensor.views import conj as _conj
from mindtorch._ops.composite import matmul as _products
from mindtorch._ops.composite.common import (
    _require_tensors,
    check_int64,
    require_same_device,
    run_for_each_sample,
    scalar_type,
    to_out,
    with_out,
    wrap_dim,
)

_arange, _zeros = _FACTORIES["arange"], _FACTORIES["zeros"]
_matmul, _where = _OPS["matmul"], _OPS["where"]
_triangular_solve, _lu_unpack = _OPS["triangular_solve"], _OPS["lu_unpack"]
_svd, _eigh, _vector_norm = _OPS["_linalg_svd"], _ATEN["linalg_eigh"], _ATEN["linalg_vector_norm"]


def conj_transpose(matrix):
    """The conjugate transpose."""
    return _conj(matrix.transpose(-1, -2))


def identity(size, like):
    """The identity matrix, of `like`'s dtype and on its device."""
    position = _arange(size, device=like.device)
    return (position.unsqueeze(-1) == position).to(like.dtype)


def by_columns(matrix):
    """A copy in column-major order, as LAPACK's results are."""
    return matrix.mT.contiguous().mT.clone()


def with_history_of(result, *inputs):
    """The tensor as a result of `inputs` with gradients of zeros, as in torch where no element of them is used."""
    for tensor in inputs:
        if tensor.requires_grad and is_grad_enabled():
            result = result + _where(_zeros((), device=tensor.device).bool(), tensor, tensor.new_zeros(())).sum()
    return result


def require_matrices(A, op, square=False):
    """RuntimeError unless A is a batch of matrices, of a dtype that decompositions take."""
    if not isinstance(A, TensorBase):
        raise TypeError(f"{op.replace('.', '_')}(): argument 'A' (position 1) must be Tensor, not {type(A).__name__}")
    if A.dim() < 2:
        raise RuntimeError(f"{op}: The input tensor A must have at least 2 dimensions.")
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"{op}: Expected a floating point or complex tensor as input. Got "
                           f"{scalar_type(A.dtype)}")
    if square and A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"{op}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} "
                           "matrices")


# --- solving ---------------------------------------------------------------------------------------------------------

@with_out(same_dtype=True)
def solve_triangular(input, B, *, upper, left=True, unitriangular=False):
    """X of A X = B, or of X A = B where not `left`, for A triangular."""
    require_matrices(input, "linalg.solve_triangular", square=True)
    require_matrices(B, "linalg.solve_triangular")
    if B.shape[-2 if left else -1] != input.shape[-1]:
        raise RuntimeError(f"linalg.solve_triangular: Incompatible shapes of A and B for the equation "
                           f"{'AX = B' if left else 'XA = B'} ({input.shape[-2]}x{input.shape[-1]} and "
                           f"{B.shape[-2]}x{B.shape[-1]})")
    if left:
        return _triangular_solve(B, input, upper, False, unitriangular)[0]
    solution, _ = _triangular_solve(B.transpose(-1, -2), input, upper, True, unitriangular)
    return by_columns(solution.transpose(-1, -2))


@with_out(same_dtype=True)
def solve_ex(A, B, *, left=True, check_errors=False):
    """The solution of A X = B, and infos: 0, or the first zero on the diagonal of U."""
    return _ATEN["linalg_solve_ex"](A, B, left=left, check_errors=check_errors)


@with_out(same_dtype=True)
@with_autocast_policy("linalg_solve")
def solve(A, B, *, left=True):
    """X of A X = B, or of X A = B where not `left`. LinAlgError where a matrix is singular."""
    return solve_ex(A, B, left=left, check_errors=True)[0]


@with_out(same_dtype=True)
@without_autocast
def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X of A X = B for the A whose LU decomposition is given; `adjoint`: for its conjugate transpose."""
    require_matrices(LU, "torch.linalg.lu_solve", square=True)
    if B.dim() > 1 and B.shape[-2 if left else -1] == LU.shape[-1]:     # otherwise an error that comes first follows
        if not pivots.dim():
            raise IndexError("Dimension specified as -1 but tensor has no dimensions")
        if pivots.shape[-1] != LU.shape[-1]:
            raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
                               "matrix")
    permutation, lower, upper = _lu_unpack(LU, pivots)
    if not left:
        return drop_base(conj_transpose(lu_solve(LU, pivots, conj_transpose(B), adjoint=not adjoint)))
    if adjoint:
        inner = solve_triangular(conj_transpose(upper), B, upper=False)
        return by_columns(_matmul(permutation, solve_triangular(conj_transpose(lower), inner, upper=True,
                                                                unitriangular=True)))
    inner = solve_triangular(lower, _matmul(permutation.transpose(-1, -2), B), upper=False, unitriangular=True)
    return solve_triangular(upper, inner, upper=True)


@with_out(same_dtype=True)
@with_autocast_policy("lu_solve")
def lu_solve_method(input, LU_data, LU_pivots):
    """`lu_solve` under its older name, which takes the right-hand side first."""
    return lu_solve(LU_data, LU_pivots, input)


@with_out(columns="never")
def cholesky(input, upper=False):
    """linalg.cholesky, under its older name, which takes whatever has no elements."""
    return _ATEN["linalg_cholesky"](input, upper=upper) if input.numel() else input.clone()


@with_out(columns="never")
def cholesky_solve(input, input2, upper=False):
    """X of A X = B for the A whose Cholesky factor is given."""
    return _ATEN["cholesky_solve"](input, input2, upper)


def _refuse_zeros(zeros, function, what):
    """Raises an error with the number of the first zero of a diagonal. `zeros` says where it has some."""
    if not zeros.is_meta and zeros.any():
        raise_first_failure(zeros.any(-1) * (zeros.long().argmax(-1) + 1), function, what)


@with_autocast_policy("cholesky_inverse")
@with_out(columns="empty")
def cholesky_inverse(input, upper=False):
    """The inverse of the matrix whose Cholesky factor is given."""
    require_matrices(input, "cholesky_inverse", square=True)
    _refuse_zeros(input.diagonal(0, -2, -1) == 0, "cholesky_inverse", NOT_INVERTIBLE)
    return _ATEN["cholesky_solve"](identity(input.shape[-1], input).expand(input.shape), input, upper)


def inverse(input, *, out=None):
    """linalg.inv, under its older name."""
    return _ATEN["linalg_inv"](input, out=out)


# --- determinants ----------------------------------------------------------------------------------------------------

@with_out
def det(input):
    """The determinant."""
    return _ATEN["linalg_det"](input)


@with_out
def slogdet(input):
    """The sign and the logarithm of the size of the determinant."""
    return return_types.slogdet(_ATEN["linalg_slogdet"](input))


def logdet(input):
    """The logarithm of the determinant: NaN where that is negative."""
    sign, log = _ATEN["linalg_slogdet"](input)
    return sign.log() + log if sign.is_complex() else _where(sign == -1, nan, log)


# --- LU, QR, singular values -----------------------------------------------------------------------------------------

@with_out(same_dtype=True)
def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """The compact LU decomposition, pivots counted from 1, and infos: 0, or the first zero on the diagonal of U."""
    return _ATEN["linalg_lu_factor_ex"](A, pivot=pivot, check_errors=check_errors)


@with_out(same_dtype=True)
def lu_factor(A, *, pivot=True):
    """`lu_factor_ex`, with LinAlgError where a matrix is singular."""
    factors, pivots, _ = lu_factor_ex(A, pivot=pivot, check_errors=True)
    return return_types.linalg_lu_factor((factors, pivots))


@with_out(same_dtype=True)
def lu(A, *, pivot=True):
    """P, L and U with A = P L U; P is empty without pivoting."""
    factors, pivots, _ = lu_factor_ex(A, pivot=pivot)
    return return_types.linalg_lu(_lu_unpack(factors, pivots, True, pivot))


@with_out
def lu_compact(A, pivot=True, get_infos=False):
    """torch.lu: what lu_factor gives, and the infos where asked for."""
    factors, pivots, info = lu_factor_ex(A, pivot=pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


@with_out(same_dtype=True)
def ldl_factor(A, *, hermitian=False):
    """The LDL decomposition of symmetric or Hermitian matrices, with RuntimeError where D has a zero."""
    factors, pivots, _ = _ATEN["linalg_ldl_factor_ex"](A, hermitian=hermitian, check_errors=True)
    return return_types.linalg_ldl_factor((factors, pivots))


@with_out(same_dtype=True)
@with_autocast_policy("qr")
def qr(input, some=True):
    """torch.qr, the older form of linalg.qr."""
    return return_types.qr(_ATEN["linalg_qr"](input, "reduced" if some else "complete"))


@with_out(same_dtype=True)
@with_autocast_policy("linalg_svd")
def linalg_svd(A, full_matrices=True, *, driver=None):
    """U, S and V^H with A = U diag(S) V^H."""
    return return_types.linalg_svd(_svd(A, full_matrices, True))


@with_out(same_dtype=True)
@with_autocast_policy("svd")
def svd(input, some=True, compute_uv=True):
    """torch.svd: the singular vectors come as V, not as V^H."""
    if not compute_uv:
        rows, columns = input.shape[-2:]
        return return_types.svd((input.new_zeros((*input.shape[:-2], rows, rows)), svdvals(input),
                                 conj_transpose(input.new_zeros((*input.shape[:-2], columns, columns)))))
    u, s, vh = _svd(input, not some, True)
    return return_types.svd((u, s, conj_transpose(vh)))


@with_out(same_dtype=True)
@with_autocast_policy("linalg_svdvals")
def svdvals(A, *, driver=None):
    """The singular values, from the largest to the smallest."""
    return _svd(A, False, A.requires_grad and is_grad_enabled())[1]


@with_out
@with_autocast_policy("linalg_eigvals")
def eigvals(input):
    """The eigenvalues, always complex."""
    return _ATEN["linalg_eig"](input)[0]


@with_out(columns="empty")
@with_autocast_policy("linalg_householder_product")
def householder_product(input, tau):
    """The first columns of the product of the reflections I - tau v v^H; each column of A holds a v below a 1."""
    require_matrices(input, "torch.linalg.householder_product")
    rows, columns = input.shape[-2:]
    if rows < columns or tau.shape[-1] > columns:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
                           "input.shape[-1], which must be greater than or equal to tau.shape[-1]")
    if tau.dim() != input.dim() - 1:
        raise RuntimeError("torch.linalg.householder_product: Expected tau to have one dimension less than input, but "
                           f"got tau.ndim equal to {tau.dim()} and input.ndim is equal to {input.dim()}")
    if tau.dtype is not input.dtype:
        raise RuntimeError(f"torch.linalg.householder_product: tau dtype {scalar_type(tau.dtype)} does not "
                           f"match input dtype {scalar_type(input.dtype)}")
    result = identity(rows, input)[:, :columns].expand(*input.shape[:-2], rows, columns)
    if not tau.shape[-1]:
        return by_columns(with_history_of(result, input, tau))
    return by_columns(_reflect(input, tau, result, reversed(range(tau.shape[-1])), adjoint=False, of_identity=True))


@with_out(columns="empty")
def orgqr(input, input2):
    """`householder_product`, under its older name."""
    return householder_product(input, input2)


def _reflect(reflectors, tau, matrix, order, adjoint, of_identity=False):
    """The reflections, one after the other, applied to a matrix from the left.

    Those of the identity, the last one first, leave the columns before their own alone, and meet their own as it was,
    even where they have NaN.
    """
    position = _arange(reflectors.shape[-2], device=reflectors.device)
    for k in order:
        vector = _where(position > k, reflectors[..., :, k], (position == k).to(reflectors.dtype)).unsqueeze(-1)
        factor = tau[..., k, None, None]
        factor = _conj(factor) if adjoint else factor
        row = _matmul(conj_transpose(vector), matrix)
        if of_identity:
            column = position[:matrix.shape[-1]]
            row = _where(column > k, row, (column == k).to(row.dtype))
        change = factor * _matmul(vector, row)
        matrix = matrix - (_where(column >= k, change, 0) if of_identity else change)
    return matrix


@with_autocast_policy("ormqr")
@with_out(same_dtype=True, columns="empty")
def ormqr(input, input2, input3, left=True, transpose=False):
    """The product of the unitary matrix of geqrf and `other`."""
    require_matrices(input, "torch.ormqr")
    for name, each in (("tau", input2), ("other", input3)):
        if each.dtype is not input.dtype:
            raise RuntimeError(f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype "
                               f"{input.dtype} and {name} has dtype {each.dtype}")
    side = -2 if left else -1
    if input3.dim() < 2 or input3.shape[side] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if input3.dim() >= 2 and input2.shape[-1] != min(input3.shape[side], input.shape[-1]):
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to "
                           f"min(other.shape[{side}], input.shape[-1])")
    product = by_columns(_multiplied(input, input2, input3, left, transpose))
    return product if input2.numel() else with_history_of(product, input, input2)


def _multiplied(input, input2, input3, left, transpose):
    if not left:
        return conj_transpose(_multiplied(input, input2, conj_transpose(input3), True, not transpose))
    order = range(input2.shape[-1])
    return _reflect(input, input2, input3, order if transpose else reversed(order), adjoint=transpose)


# --- rank, pseudo-inverse, condition ---------------------------------------------------------------------------------

def _refuse_complex_tolerances(name, **tolerances):
    for tolerance, value in tolerances.items():
        if isinstance(value, TensorBase) and value.is_complex():
            raise RuntimeError(f"{name}: {tolerance} tensor of complex type is not supported. Got "
                               f"{scalar_type(value.dtype)}")
        if value is not None and not isinstance(value, (TensorBase, Real)):
            raise TypeError(f"{name}(): argument '{tolerance}' must be float, not {type(value).__name__}")


def _tolerance(values, shape, atol, rtol):
    """The size below which a singular value counts as zero."""
    if rtol is None:
        some = atol is not None and (isinstance(atol, TensorBase) or atol > 0)
        spacing = 2.0 ** -52 if values.dtype is float64 else 2.0 ** -23
        rtol = 0.0 if some and not isinstance(atol, TensorBase) else spacing * max(shape[-2:])
        if isinstance(atol, TensorBase):
            rtol = _where(atol > 0, 0.0, rtol).to(values.dtype)
    relative = values.amax(-1, keepdim=True) * (rtol.unsqueeze(-1) if isinstance(rtol, TensorBase) else rtol)
    if atol is None:
        return relative
    absolute = atol.unsqueeze(-1).to(values.dtype) if isinstance(atol, TensorBase) else _zeros(
        (), dtype=values.dtype, device=values.device) + atol
    return _OPS["maximum"](absolute, relative)


@with_out
@with_autocast_policy("linalg_matrix_rank")
def matrix_rank(input, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values are larger than max(atol, rtol * the largest); `tol` is the older name of atol."""
    require_matrices(input, "linalg.matrix_rank")
    _refuse_complex_tolerances("torch.linalg.matrix_rank", atol=atol if tol is None else tol, rtol=rtol)
    if tol is not None:
        atol, rtol = tol, 0.0
    if not input.numel():           # whatever the tolerances
        return _zeros(input.shape[:-2], dtype=int64, device=input.device)
    values = _ATEN["linalg_eigvalsh"](input.detach()).abs() if hermitian else svdvals(input.detach())
    return (values > _tolerance(values, input.shape, atol, rtol)).sum(-1)


@with_out
def pinv(input, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverse: singular values up to max(atol, rtol * the largest) count as zero."""
    if isinstance(input, TensorBase) and (
            input.dim() < 2 or input.dtype not in (float32, float64, complex64, complex128)):
        raise RuntimeError(f"linalg.pinv({scalar_type(input.dtype)}{{{list(input.shape)}}}): expected a tensor with "
                           "2 or more dimensions of float, double, cfloat or cdouble types")
    require_matrices(input, "linalg.pinv")
    for name, tolerance in (("rtol", rcond), ("atol", atol), ("rtol", rtol)):
        if isinstance(tolerance, TensorBase) and tolerance.requires_grad and is_grad_enabled():
            raise RuntimeError(f"The function 'linalg_pinv' is not differentiable with respect to argument '{name}'. "
                               "This input cannot have requires_grad True.")
    _refuse_complex_tolerances("torch.linalg.pinv", rcond=rcond, atol=atol, rtol=rtol)
    if not input.numel():           # whatever the tolerances: a product, as of others, which autocast casts
        return _matmul(input.mT[..., :0], input.mT[..., :0, :])
    return _pinv_function().apply(input, hermitian, atol, rtol if rcond is None else rcond)


def _plain_pinv(A, hermitian, atol, rtol):
    if hermitian:
        values, vectors = _eigh(A)
        left, right, sizes = vectors, conj_transpose(vectors), values.abs()
    else:
        left, values, right = _svd(A, False, True)
        left, right, sizes = conj_transpose(right), conj_transpose(left), values
    inverse = _where(sizes > _tolerance(sizes, A.shape, atol, rtol), 1 / values, 0.0).to(A.dtype)
    return _matmul(left * inverse.unsqueeze(-2), right)


@functools.cache
def _pinv_function():
    """The pseudo-inverse with its derivative for matrices of constant rank; that of the singular vectors has poles."""
    from mindtorch.autograd import Function

    class Pinv(Function):
        @staticmethod
        def forward(ctx, A, hermitian, atol, rtol):
            result = _plain_pinv(A, hermitian, atol, rtol)
            ctx.save_for_backward(A, result)
            return result

        @staticmethod
        def backward(ctx, grad):
            A, result = ctx.saved_tensors
            along = _matmul(conj_transpose(grad), result)
            rows = _matmul(along, conj_transpose(result))
            columns = _matmul(_matmul(conj_transpose(result), result), conj_transpose(grad) - _matmul(along, A))
            of_A = columns + rows - _matmul(A, _matmul(result, rows)) - conj_transpose(_matmul(result, along))
            return of_A, None, None, None

    return Pinv


@with_autocast_policy("pinverse")
def pinverse(input, rcond=1e-15):
    """torch.pinverse, the older form of linalg.pinv."""
    return pinv(input, rtol=rcond)


def _solve_full_rank(A, B):
    """The X of least |A X - B|, of several the least, by A = QR, or A^H = QR of a wide A. Refuses zeros in R."""
    is_tall = A.shape[-2] >= A.shape[-1]
    Q, R = _ATEN["linalg_qr"](A if is_tall else conj_transpose(A))
    _refuse_zeros(R.diagonal(0, -2, -1) == 0, "torch.linalg.lstsq", RANK_DEFICIENT)
    if is_tall:
        return solve_triangular(R, _matmul(conj_transpose(Q), B), upper=True)
    return _matmul(Q, solve_triangular(conj_transpose(R), B, upper=False))


@with_out(columns="never")
@with_autocast_policy("linalg_lstsq")
@without_autocast
def lstsq(input, b, rcond=None, *, driver=None):
    """The X of least |A X - B|, with residuals, rank and singular values as far as the driver finds them."""
    _require_tensors("linalg_lstsq", input=input, b=b)
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if input.dtype is not b.dtype:
        raise RuntimeError("torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
                           f"{scalar_type(input.dtype)} and other's dtype {scalar_type(b.dtype)}")
    vectors = b.dim() == input.dim() - 1 and tuple(b.shape) == tuple(input.shape[:-1])
    right = b.unsqueeze(-1) if vectors else b
    if right.shape[-2] != input.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    driver = driver or "gelsy"
    if input.dtype not in (float32, float64, complex64, complex128):
        if rcond is None:
            raise RuntimeError("This function doesn't handle types other than float and double")
        raise NotImplementedError(f"\"linalg_lstsq_cpu\" not implemented for '{scalar_type(input.dtype)}'")
    rows, columns = input.shape[-2:]
    residuals = with_history_of(input.new_zeros((0,)), input, right).abs()
    rank = singular = None
    if driver == "gels":            # of a matrix of zeros LAPACK gives zeros, as of the identity and zeros
        of_zeros = (input == 0).all((-2, -1), True)
        diagonal = _arange(rows, device=input.device).unsqueeze(-1) == _arange(columns, device=input.device)
        input, right = _where(of_zeros, diagonal.to(input.dtype), input), _where(of_zeros, 0, right)
        solution = _solve_full_rank(input, right)
    else:
        solution = _matmul(pinv(input, rtol=rcond), right)
        rank = matrix_rank(input, rtol=rcond)
    if driver in ("gelsd", "gelss"):
        singular = svdvals(input.detach())
    if rows > columns and driver != "gelsy" and (rank is None or bool((rank == columns).all())):
        residuals = (_matmul(input, solution) - right).abs().pow(2).sum(-2)
    if rows > columns:      # as in torch, a view of a matrix like `b`
        below = solution.new_zeros((*solution.shape[:-2], rows - columns, solution.shape[-1]))
        solution = _OPS["cat"]([solution, below], -2)
    solution = by_columns(solution)[..., :columns, :]
    solution = drop_base(solution.squeeze(-1) if vectors else solution)
    nothing = input.new_zeros((0,)).abs()
    rank = _zeros((0,), dtype=int64, device=input.device) if rank is None else rank
    return return_types.linalg_lstsq((solution, residuals, rank, nothing if singular is None else singular))


@with_out
@with_autocast_policy("linalg_cond")
def cond(input, p=None):
    """The condition number: |A| |A^-1| in the matrix norm `p`."""
    require_matrices(input, "linalg.cond")
    if p in (None, 2, -2):
        if 0 in input.shape[-2:]:
            return input.new_zeros(input.shape[:-2]).abs()
        values = svdvals(input)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    require_matrices(input, "linalg.cond", square=True)
    if 0 in input.shape:
        return input.new_zeros(input.shape[:-2]).abs()
    if p == "nuc":
        values = svdvals(input)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverse, info = _ATEN["linalg_solve_ex"](input, identity(input.shape[-1], input).expand(input.shape))
    return (matrix_norm(input, p) * matrix_norm(inverse, p)).masked_fill(info != 0, inf)


# --- powers and functions --------------------------------------------------------------------------------------------

def matrix_power(input, n, *, out=None):
    """The product of n times A; of the inverse where n is below 0."""
    n = index(n)
    check_int64(n)
    if input.dim() < 2 or input.shape[-1] != input.shape[-2]:
        require_matrices(input, "linalg.matrix_power", square=True)
    if out is None:
        return _power(input, n)
    require_same_device(input, out)
    if not _can_cast(input.dtype, out.dtype):
        raise RuntimeError(f"matrix_power: Expected result to be safely castable from {scalar_type(input.dtype)} dtype,"
                           f" but got result with dtype {scalar_type(out.dtype)}")
    # The last step writes to out=: an inverse or a product wants its own dtype there. What was squared is copied.
    if n == -1:
        return to_out("linalg_inv_ex", _power(input, n), out)
    if abs(n) in (2, 3) or abs(n) & (abs(n) - 1):
        return to_out("matmul", _power(input, n), out)
    result = _power(input, n) if n else _power(input.detach(), n)
    return resize_output(out, result).copy_(result)


def _power(input, n):
    if n == 0:
        return with_history_of(identity(input.shape[-1], input).expand(input.shape).clone(), input)
    inverse = n < 0
    if inverse:
        input, n = _ATEN["linalg_inv"](input), -n
    result = None
    while n:
        if n % 2:
            result = input if result is None else _matmul(result, input)
        n //= 2
        if n:
            input = _matmul(input, input)
    return result if result is not input or inverse else input.clone(memory_format=contiguous_format)


# Above this 1-norm, the Taylor polynomial of 18 terms is no longer exact in double precision.
_TAYLOR_BOUND = 1.0
_TAYLOR_TERMS = 18


@run_for_each_sample
@without_autocast
def matrix_exp(input):
    """The exponential: a Taylor polynomial of A / 2^k, squared k times."""
    require_matrices(input, "linalg.matrix_exp", square=True)
    if not input.numel():
        return input.clone()
    norm = 0 if input.is_meta else input.detach().abs().sum(-2).amax().item()
    halvings = 0
    while norm < inf and norm / 2 ** halvings > _TAYLOR_BOUND:
        halvings += 1
    scaled = input / 2 ** halvings
    unit = identity(input.shape[-1], input).expand(input.shape)
    result = unit
    for term in range(_TAYLOR_TERMS, 0, -1):
        result = unit + _matmul(scaled, result) / term
    for _ in range(halvings):
        result = _matmul(result, result)
    return result


@with_out(same_dtype=True)
@with_autocast_policy("linalg_multi_dot")
def multi_dot(tensors):
    """The product of matrices, in the order of fewest multiplications; the first and the last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(tensors)))
    first, last = tensors[0].dim() == 1, tensors[-1].dim() == 1
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for i, one in enumerate(tensors):
        if one.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {one.dim()}D")
    result = _products.multiply_chain(tensors)
    if last:
        result = result.squeeze(-1)
    return result.squeeze(0) if first else result


def vander(x, N=None):
    """Powers 0, 1, ... N - 1 of every element, along a new last dimension."""
    if x.dtype in (bool_, float16, bfloat16):
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got "
                           f"{scalar_type(x.dtype)}")
    x = x.reshape(1) if x.dim() == 0 else x
    count = x.shape[-1] if N is None else N
    check_int64(count)
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, count)


def _powers(x, count):
    x = (x if x.is_floating_point() or x.is_complex() else x.long()).unsqueeze(-1)
    powers = x.expand(*x.shape[:-1], count - 1).cumprod(-1)
    return _OPS["cat"]([x.new_ones(x.shape), powers], -1)


def old_vander(x, N=None, increasing=False):
    """torch.vander: of a vector, with falling powers unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    check_int64(count)
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = _powers(x, max(count, 1))[:, :count]
    return powers if increasing else powers.flip(-1)


@with_out(same_dtype=True)
@with_autocast_policy("linalg_vecdot")
@without_autocast
def vecdot(x, y, *, dim=-1):
    """Dot products along a dimension, with the conjugate of x."""
    _require_tensors("linalg_vecdot", x=x, y=y)
    if not x.is_floating_point() and not x.is_complex():
        raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. Got "
                           f"{scalar_type(x.dtype)}")
    if x.dtype is not y.dtype:
        raise RuntimeError("linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
                           f"{scalar_type(x.dtype)} and y of type {scalar_type(y.dtype)} instead")
    return (_conj(x) * y).sum(dim)


@with_out(columns="never")
@with_autocast_policy("linalg_tensorinv")
def tensorinv(input, ind=2):
    """The inverse of A as a map from its last dimensions to its first `ind`."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows = prod(input.shape[:ind])
    if rows != prod(input.shape[ind:]):
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                           f"prod(self.shape[:ind]), but got {prod(input.shape[ind:])} != {rows}")
    return _ATEN["linalg_inv"](input.reshape(rows, rows)).reshape((*input.shape[ind:], *input.shape[:ind]))


@with_out
@with_autocast_policy("linalg_tensorsolve")
def tensorsolve(input, other, dims=None):
    """X of tensordot(A, X) = B."""
    _require_tensors("linalg_tensorsolve", input=input, other=other)
    if dims is not None:
        dims = [wrap_dim(d, input.dim()) for d in dims]
        input = input.permute([d for d in range(input.dim()) if d not in dims] + dims)
    rest = input.shape[other.dim():]
    if prod(rest) != other.numel() or input.numel() != other.numel() ** 2:
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {prod(rest)} != {other.numel()}")
    return solve(input.reshape(other.numel(), other.numel()), other.reshape(-1)).reshape(tuple(rest))


@with_autocast_policy("cross")
def cross(input, other, dim=None, *, out=None):
    """torch.cross: without `dim`, along the first dimension of size 3."""
    _require_tensors("cross", input=input, other=other)
    if dim is None:
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _ATEN["linalg_cross"](input, other, dim=dim, out=out)


# --- low-rank decompositions: Halko, Martinsson and Tropp 2011, algorithm 5.1 ----------------------------------------


def _orthonormal(matrix):
    return _ATEN["linalg_qr"](matrix)[0]


def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) of the q largest singular values of A, or of A - M: A is about U diag(S) V^H."""
    _require_tensors("svd_lowrank", A=A)
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    A = A if M is None else A - M.broadcast_to(A.shape)
    wide = rows < columns
    tall = conj_transpose(A) if wide else A
    basis = _orthonormal(_matmul(tall, _randn(tall.shape[-1], q, dtype=A.dtype, device=A.device)))
    for _ in range(niter):
        basis = _orthonormal(_matmul(tall, _orthonormal(_matmul(conj_transpose(tall), basis))))
    U, S, Vh = linalg_svd(_matmul(conj_transpose(basis), tall), False)
    U, V = _matmul(basis, U), conj_transpose(Vh)
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
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):
    """(values, vectors) of the k largest or smallest eigenvalues of A X = B X diag(values).

    Computed directly, as dense matrices: what steers torch's iterations has nothing to do here.
    """
    _require_tensors("lobpcg", A=A)
    A, B = (matrix.to_dense() if matrix is not None and matrix.is_sparse else matrix for matrix in (A, B))
    if k is None:
        k = 1 if X is None else X.shape[-1]
    if k < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {k}")
    size = A.shape[-1]
    if size < 3 * k:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x "
                         f"the number of requested eigenpairs (={k})")
    if B is None:
        values, vectors = _ATEN["linalg_eigh"](A)
    else:
        factor = _ATEN["linalg_cholesky"](B)
        half = solve_triangular(factor, A, upper=False)
        whole = solve_triangular(factor, conj_transpose(half), upper=False)
        values, vectors = _ATEN["linalg_eigh"](whole)
        vectors = solve_triangular(conj_transpose(factor), vectors, upper=True)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], vectors[..., :k]


# --- norms -----------------------------------------------------------------------------------------------------------


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """(sum |x|^ord)^(1 / ord) over some or all dimensions, flattened; inf, -inf and 0 as limits."""
    return _vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


def _two_dims(A, dim):
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    first, second = (wrap_dim(d, A.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _check_norm_dtype(function, given, dtype):
    """Refuses a `dtype` to compute a norm in that cannot hold all numbers of the operand's, or is not of its kind."""
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{function}: dtype should be floating point or complex, but got {scalar_type(dtype)}")
    if dtype.is_complex != given.is_complex:
        kind = "complex" if given.is_complex else "real"
        raise RuntimeError(f"{function}: dtype should be {kind} for {kind} inputs, but got {scalar_type(dtype)}")
    if _promote_types(given, dtype) is not dtype:
        raise RuntimeError(f"{function}: the dtype of the input ({scalar_type(given)}) should be convertible without "
                           f"narrowing to the specified dtype ({scalar_type(dtype)})")


hooks.check_norm_dtype = _check_norm_dtype


@with_out(same_dtype=True)
@with_autocast_policy("linalg_matrix_norm")
def matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """"fro", "nuc", or a number: 2 the largest singular value, 1 and inf the largest sum of a column or a row."""
    require_matrices(input, "linalg.matrix_norm")
    first, second = _two_dims(input, dim)
    if (ord == "nuc" or ord in (2, -2)) and input.dtype in (float16, bfloat16):
        raise RuntimeError("linalg.matrix_norm: Low precision dtypes not supported. Got " + scalar_type(input.dtype))
    if dtype is not None:
        _check_norm_dtype("linalg.matrix_norm", input.dtype, dtype)
        input = input.to(dtype)
    if ord == "fro":
        return _vector_norm(input, 2, (first, second), keepdim)
    if isinstance(ord, str) and ord != "nuc":
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "nuc" or abs(ord) == 2:
        rest = [d for d in range(input.dim()) if d not in (first, second)]
        values = svdvals(input.permute([*rest, first, second]))
        result = values.sum(-1) if ord == "nuc" else _largest(values, -1) if ord > 0 else values.amin(-1)
        if keepdim:
            for d in sorted((first, second)):
                result = result.unsqueeze(d)
        return result
    if abs(ord) not in (1, inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, compared = (first, second) if abs(ord) == 1 else (second, first)
    sums = input.abs().sum(summed, keepdim=keepdim)
    if compared > summed and not keepdim:
        compared -= 1
    return _largest(sums, compared, keepdim) if ord > 0 else sums.amin(compared, keepdim)


def _largest(values, dim, keepdim=False):
    """The largest of non-negative values along a dimension; 0 where there are none."""
    return values.amax(dim, keepdim) if values.shape[dim] else values.sum(dim, keepdim)


@with_out(same_dtype=True)
def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    """vector_norm or matrix_norm, as `dim` and `ord` ask for."""
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dim) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    elif ord is not None and input.dim() not in (1, 2):
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{input.dim()}D.")
    if ord is not None and (len(dim) if dim is not None else input.dim()) == 2:
        return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return _vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@with_out(same_dtype=True)
@with_autocast_policy("norm")
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """torch.norm: of vectors unless p is "nuc"; two dims together are one vector."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"norm(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if isinstance(p, str) and not (dim is None or isinstance(dim, (int, list, tuple))):
        raise TypeError("linalg_matrix_norm(): argument 'dim' (position 3) must be tuple of ints, not "
                        f"{type(dim).__name__}")
    if p == "nuc":
        return matrix_norm(input, p, (0, 1) if dim is None and input.dim() == 2 else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
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


_FUNCTIONS_AND_METHODS = {
    "cholesky": cholesky, "cholesky_inverse": cholesky_inverse, "cholesky_solve": cholesky_solve,
    "cross": cross,
    "det": det, "inverse": inverse, "logdet": logdet, "lu": lu_compact, "lu_solve": lu_solve_method,
    "matrix_exp": matrix_exp, "matrix_power": matrix_power, "norm": norm, "orgqr": orgqr, "ormqr": ormqr,
    "pinverse": pinverse, "qr": qr, "slogdet": slogdet, "svd": svd}
FUNCTIONS = {**_FUNCTIONS_AND_METHODS, "frobenius_norm": frobenius_norm, "norm_except_dim": norm_except_dim,
             "nuclear_norm": nuclear_norm, "lobpcg": lobpcg, "pca_lowrank": pca_lowrank, "svd_lowrank": svd_lowrank,
             "vander": old_vander}
METHODS = _FUNCTIONS_AND_METHODS
