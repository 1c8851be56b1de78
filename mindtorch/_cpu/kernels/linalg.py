"""CPU kernels of linear algebra, over numpy.linalg. Arrays are batches of matrices in the compute dtype.

`info` counts from 1 as LAPACK does, 0 where nothing was wrong.
"""
import functools
import math

import numpy as np

from mindtorch._core.errors import (
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_INVERTIBLE,
    NOT_POSITIVE_DEFINITE,
    SINGULAR,
    ZERO_BLOCK,
    ZERO_PIVOT,
    raise_first_failure,
)


def _adjoint(a):
    return np.swapaxes(a, -1, -2)


def _each(a):
    """The matrices of a batch."""
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])      # -1 would not do for matrices without elements


def addbmm(x, a, b, beta, alpha):
    """beta = 0 ignores x, NaN and all."""
    product = np.einsum("bij,bjk->ik", a, b) * alpha
    return product if beta == 0 else product + x * beta


def addr(x, a, b, beta, alpha):
    product = np.multiply.outer(a * alpha, b)
    return product if beta == 0 else product + x * beta


def cross(a, b, dim):
    return np.cross(a, b, axis=dim)


def vector_norm(x, order, dim, keepdim):
    axes = dim if dim is not None or not x.ndim else tuple(range(x.ndim))
    order, size = float(np.real(order)), np.abs(x)
    if order == np.inf:
        return np.max(size, axis=axes, keepdims=keepdim)
    if order == -np.inf:
        return np.min(size, axis=axes, keepdims=keepdim)
    if order == 0:
        return np.sum(size != 0, axis=axes, keepdims=keepdim)
    if order == 1:
        return np.sum(size, axis=axes, keepdims=keepdim)
    return np.sum(size ** size.dtype.type(order), axis=axes, keepdims=keepdim) ** size.dtype.type(1 / order)


# --- LU --------------------------------------------------------------------------------------------------------------

def slogdet(a):
    """A real sign is 0 where the determinant is NaN, as NumPy's is not."""
    sign, log = np.linalg.slogdet(a)
    return sign if a.dtype.kind == "c" else np.where(np.isnan(log), 0, sign), log


def lu_factor_ex(a, pivot, check_errors):
    """L below the diagonal (its own is 1), U on and above it; pivots count from 1."""
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, count = a.copy(), min(a.shape[-2:])
    pivots = np.zeros((*a.shape[:-2], count), np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    for matrix, row, index in zip(_each(lu), pivots.reshape(info.size, count), np.ndindex(info.shape), strict=True):
        info[index] = _eliminate(matrix, row, count)
    if check_errors:
        raise_first_failure(info, "torch.linalg.lu_factor", ZERO_PIVOT, RuntimeError)
    return lu, pivots, info


def _size(x):
    """The magnitude by which LAPACK compares pivots."""
    return np.abs(x.real) + np.abs(x.imag)


def _eliminate(matrix, pivots, count):
    info = 0
    for k in range(count):
        chosen = k + int(np.argmax(_size(matrix[k:, k])))
        pivots[k] = chosen + 1
        matrix[[k, chosen]] = matrix[[chosen, k]]
        if matrix[k, k] == 0:
            info = info or k + 1
            continue
        matrix[k + 1:, k] /= matrix[k, k]
        matrix[k + 1:, k + 1:] -= np.outer(matrix[k + 1:, k], matrix[k, k + 1:])
    return info


def lu_unpack(lu, pivots, unpack_data, unpack_pivots):
    """The permutation, L and U; empty arrays for what is not asked for."""
    rows, columns = lu.shape[-2:]
    count = min(rows, columns)
    nothing = np.zeros(0, lu.dtype)
    p, lower, upper = nothing, nothing, nothing
    if unpack_pivots:
        pivots = pivots[..., :count]        # torch looks at no others
        if pivots.size and not 1 <= pivots.min() <= pivots.max() <= rows:
            raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                               "Did you properly pass the result of lu_factor?")
        p = np.zeros((*lu.shape[:-2], rows, rows), lu.dtype)
        for matrix, swaps in zip(_each(p), pivots.reshape(len(_each(p)), pivots.shape[-1]), strict=True):
            order = np.arange(rows)
            for k, other in enumerate(swaps - 1):
                order[[k, other]] = order[[other, k]]
            matrix[order, np.arange(rows)] = 1
    if unpack_data:
        lower = np.tril(lu[..., :count], -1) + np.eye(rows, count, dtype=lu.dtype)
        upper = np.triu(lu[..., :count, :])
    return p, lower, upper


# --- LDL^T, for symmetric and Hermitian matrices that need not be positive definite ----------------------------------

_GROWTH = (1 + 17 ** 0.5) / 8           # a diagonal element so much smaller than its column makes no pivot


def ldl_factor_ex(a, hermitian, check_errors):
    """L below the diagonal, D in its blocks of one or two rows; pivots as LAPACK's sytrf has them: -k for a block."""
    factors = np.tril(a)
    pivots, info = np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    for index in np.ndindex(info.shape):
        info[index] = _factor_symmetric(factors[index], pivots[index], hermitian)
    if check_errors:
        raise_first_failure(info, "torch.linalg.ldl_factor_ex", ZERO_BLOCK, RuntimeError)
    return factors, pivots, info


def _factor_symmetric(a, pivots, hermitian):
    """The method of Bunch and Kaufman, in the lower triangle of `a`; gives LAPACK's info."""
    def adjoint(x):
        return x.conj() if hermitian else x

    info, k = 0, 0
    while k < len(a):
        if hermitian:
            np.fill_diagonal(a[k:, k:], a[k:, k:].diagonal().real)
        width, pivot = _choose_pivot(a, k)
        last = k + width - 1
        if pivot != last:
            _swap_symmetric(a, k, last, pivot, adjoint)
        pivots[k:last + 1] = pivot + 1 if width == 1 else -pivot - 1
        block, below = a[k:last + 1, k:last + 1], a[last + 1:, k:last + 1]
        if width == 1 and block == 0:
            info = info or k + 1
        else:
            whole = block if width == 1 else np.array([[block[0, 0], adjoint(block[1, 0])], [block[1, 0], block[1, 1]]])
            multipliers = below @ np.linalg.inv(whole)
            a[last + 1:, last + 1:] -= np.tril(multipliers @ adjoint(below).T)
            below[...] = multipliers
        k = last + 1
    return info


def _choose_pivot(a, k):
    """(1 or 2, the row that becomes the last one of a block of that many rows)."""
    size, column = _size(a[k, k]), _size(a[k + 1:, k])
    if not column.size or size >= _GROWTH * column.max():      # the last one may be NaN
        return 1, k
    row = k + 1 + int(np.argmax(column))
    largest, others = column.max(), np.concatenate([_size(a[row, k:row]), _size(a[row + 1:, row])])
    if size * others.max() >= _GROWTH * largest * largest:
        return 1, k
    return (1 if _size(a[row, row]) >= _GROWTH * others.max() else 2), row


def _swap_symmetric(a, k, last, pivot, adjoint):
    """Swaps the rows and columns `last` and `pivot` of what is left from k on, of which the lower triangle is there."""
    a[pivot + 1:, [last, pivot]] = a[pivot + 1:, [pivot, last]]
    a[last + 1:pivot, last], a[pivot, last + 1:pivot] = (
        adjoint(a[pivot, last + 1:pivot]), adjoint(a[last + 1:pivot, last].copy()))
    a[pivot, last] = adjoint(a[pivot, last])
    a[[last, pivot], [last, pivot]] = a[[pivot, last], [pivot, last]]
    a[[last, pivot], k:last] = a[[pivot, last], k:last]


def ldl_solve(factors, pivots, b, hermitian):
    """X of A X = B, for the factors of A that ldl_factor_ex has found."""
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    factors = np.broadcast_to(factors, (*batch, *factors.shape[-2:]))
    pivots = np.broadcast_to(pivots, factors.shape[:-1])
    x = np.broadcast_to(b, (*batch, *b.shape[-2:])).copy()
    for index in np.ndindex(batch):
        _solve_symmetric(factors[index], pivots[index], x[index], hermitian)
    return x


def _solve_symmetric(a, pivots, x, hermitian):
    blocks, k = [], 0
    while k < len(a):
        last = k + (pivots[k] < 0)
        blocks.append((slice(k, last + 1), slice(last + 1, None), [last, abs(pivots[k]) - 1]))
        k = last + 1
    for rows, below, swap in blocks:
        x[swap] = x[swap[::-1]]
        x[below] -= a[below, rows] @ x[rows]
        block = np.tril(a[rows, rows])
        upper = np.tril(block, -1).T
        if len(block) == 1:
            with np.errstate(divide="ignore", invalid="ignore"):    # a zero gives infinity, as in LAPACK
                x[rows] /= block
        else:
            x[rows] = np.linalg.solve(block + (upper.conj() if hermitian else upper), x[rows])
    for rows, below, swap in reversed(blocks):
        x[rows] -= (a[below, rows].conj() if hermitian else a[below, rows]).T @ x[below]
        x[swap] = x[swap[::-1]]


# --- inverses and solutions ------------------------------------------------------------------------------------------

def inverse_ex(a, check_errors):
    inverse, info = solve_ex(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), True, False)
    if check_errors:
        raise_first_failure(info, "linalg.inv", NOT_INVERTIBLE)
    return inverse, info


def inverse(a):
    return inverse_ex(a, True)[0]


def solve_ex(a, b, left, check_errors):
    """X of A X = B, of X A = B where not `left`; B may be a batch of vectors."""
    vectors = b.ndim == 1 or b.shape == a.shape[:-1]
    if vectors:
        b = b[..., None]
    b = b if left else _adjoint(b)
    try:
        x, info = np.linalg.solve(a if left else _adjoint(a), b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        lu, pivots, info = lu_factor_ex(a, True, False)
        if check_errors:
            raise_first_failure(info, "torch.linalg.solve", SINGULAR)
        x = _solve_by_lu(lu, pivots, b, left)
    x = x if left else _adjoint(x)
    return (x[..., 0] if vectors else x), info


def _solve_by_lu(lu, pivots, b, left):
    """X of A X = B, or of A^T X = B, for A = P L U. A pivot of zero leaves infinity and NaN, as in LAPACK."""
    p = lu_unpack(lu, pivots, False, True)[0]
    order = np.argmax(p, axis=-2 if left else -1)[..., None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if left:
            b = np.take_along_axis(b, order, -2)
            return triangular_solve(triangular_solve(b, lu, False, False, True)[0], lu, True, False, False)[0]
        x = triangular_solve(triangular_solve(b, lu, True, True, False)[0], lu, False, True, True)[0]
    return np.take_along_axis(x, order, -2)


def cholesky_solve(b, factor, upper):
    """X of A X = B by two substitutions. A zero on the diagonal leaves infinity and NaN, as in LAPACK."""
    adjoint = np.conj(np.swapaxes(factor, -1, -2))
    lower, higher = (adjoint, factor) if upper else (factor, adjoint)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = triangular_solve(b, lower, False, False, False)[0]
        return triangular_solve(inner, higher, True, False, False)[0]


def triangular_solve(b, a, upper, transpose, unitriangular):
    """Substitution, one row after the other: of the unknowns that are known by then."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    whole = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    a = np.triu(whole) if upper else np.tril(whole)
    a, upper = (_adjoint(a), not upper) if transpose else (a, upper)
    x = np.broadcast_to(b, (*batch, *b.shape[-2:])).copy()
    size = a.shape[-1]
    for i in range(size - 1, -1, -1) if upper else range(size):
        known = slice(i + 1, size) if upper else slice(0, i)
        x[..., i, :] -= np.einsum("...k,...kj->...j", a[..., i, known], x[..., known, :])
        if not unitriangular and np.iscomplexobj(x):
            x[..., i, :] *= 1 / a[..., i, i, None]      # NaN for a zero, as in LAPACK
        elif not unitriangular:
            x[..., i, :] /= a[..., i, i, None]
    return x, whole


# --- factorisations --------------------------------------------------------------------------------------------------

def cholesky_ex(a, upper, check_errors):
    a = _adjoint(np.triu(a)).conj() if upper else np.tril(a)
    try:
        lower = np.linalg.cholesky(a)
        nan = np.isnan(np.diagonal(lower, axis1=-2, axis2=-1))      # a root of NaN is no error to NumPy
        info = np.where(nan.any(-1), nan.argmax(-1) + 1, 0) if nan.size else np.zeros(a.shape[:-2])
        info = info.astype(np.int32)
    except np.linalg.LinAlgError:
        lower, info = _cholesky_one_by_one(a)
    if check_errors:
        raise_first_failure(info, "linalg.cholesky", NOT_POSITIVE_DEFINITE)
    return (_adjoint(lower).conj() if upper else lower), info


def _cholesky_one_by_one(a):
    lower, info = np.zeros_like(a), np.zeros(a.shape[:-2], np.int32)
    for index in np.ndindex(info.shape):
        try:
            lower[index] = np.linalg.cholesky(a[index])
        except np.linalg.LinAlgError:
            info[index] = _first_minor(a[index])
        else:
            info[index] = _first_nan(lower[index].diagonal())
    return lower, info


def _first_minor(a):
    """The order of the first leading minor that is not positive definite."""
    for order in range(1, len(a)):
        try:
            np.linalg.cholesky(a[:order, :order])
        except np.linalg.LinAlgError:
            return order
    return len(a)


def _first_nan(diagonal):
    """The place, from 1, of the first NaN; 0 where there is none. A root of NaN is no error to NumPy."""
    places = np.flatnonzero(np.isnan(diagonal))
    return places[0] + 1 if places.size else 0


def cholesky(a, upper):
    return cholesky_ex(a, upper, True)[0]


def qr(a, mode):
    if mode == "r":
        return np.zeros(0, a.dtype), np.linalg.qr(a, "r")
    return np.linalg.qr(a, mode)


def geqrf(a):
    reflectors, tau = np.linalg.qr(a, "raw")
    return _adjoint(reflectors), tau


def _require_finite(a, function, what):
    """LinAlgError for the first matrix with NaN or infinity, for which LAPACK fails; NumPy may say nothing."""
    failed = ~np.isfinite(a).all((-2, -1)) * (a.shape[-1] - 1)          # LAPACK's number of this error
    raise_first_failure(failed, function, NOT_CONVERGED.format(what=what))


def svd(a, full_matrices, compute_uv):
    """NaN where the matrix has infinity, for which LAPACK may look without end."""
    raise_first_failure(np.isnan(a).any((-2, -1)), "linalg.svd", NOT_FINITE)
    finite = np.isfinite(a).all((-2, -1), keepdims=True)
    a = np.where(finite, a, 0)
    nothing = np.zeros(0, a.dtype)
    u, s, vh = np.linalg.svd(a, full_matrices) if compute_uv else (nothing, np.linalg.svd(a, compute_uv=False), nothing)
    if not finite.all():
        s[~finite[..., 0, 0]] = np.nan
        if compute_uv:
            u[~finite[..., 0, 0]], vh[~finite[..., 0, 0]] = np.nan, np.nan
    return u, s, vh


def eig(a):
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return np.linalg.eig(a)


def eigh(a, uplo):
    _require_finite(a, "linalg.eigh", "eigenvalues")
    return np.linalg.eigh(a, uplo.upper())


def eigvalsh(a, uplo):
    _require_finite(a, "linalg.eigh", "eigenvalues")
    return np.linalg.eigvalsh(a, uplo.upper())


def svd_with_v(a, full_matrices, compute_uv):
    u, s, vh = svd(a, full_matrices, compute_uv)
    return u, s, _adjoint(vh).conj() if compute_uv else vh


# --- Fourier transforms ----------------------------------------------------------------------------------------------

# By `normalization`; the backward transforms of NumPy divide by the count where the forward ones do not.
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")


@functools.cache
def _fft():
    """The module scipy.fft where SciPy is installed, else numpy.fft, which transforms one line at a time."""
    try:
        import scipy.fft
    except ImportError:
        return np.fft
    return scipy.fft


def complex_to_complex(x, dim, normalization, forward):
    if forward:
        return _fft().fftn(x, axes=dim, norm=_FORWARD[normalization])
    return _fft().ifftn(x, axes=dim, norm=_BACKWARD[normalization])


def real_to_complex(x, dim, normalization, onesided):
    transform = _fft().rfftn if onesided else _fft().fftn
    return transform(x, axes=dim, norm=_FORWARD[normalization])


def complex_to_real(x, dim, normalization, length):
    sizes = [x.shape[d] for d in dim[:-1]] + [length]
    return _fft().irfftn(x, s=sizes, axes=dim, norm=_BACKWARD[normalization])
