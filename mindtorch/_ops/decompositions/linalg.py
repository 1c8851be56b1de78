"""Linear algebra by the factorisations that ACLNN has. Those that it lacks go column by column, for a whole batch."""
from mindtorch._core.errors import (
    NOT_INVERTIBLE,
    NOT_POSITIVE_DEFINITE,
    SINGULAR,
    ZERO_BLOCK,
    ZERO_PIVOT,
    raise_first_failure,
)
from mindtorch._core.tensor.dtype import complex64, complex128, float64, int32
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
    """beta self + alpha product. Where beta is 0, NaN and infinities in `self` do not count.

    Beside integers beta and alpha lose their fractions.
    """
    if not (product.is_floating_point() or product.is_complex()):
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + self * beta


def det_by_slogdet(A):
    """The determinant, from its logarithm."""
    sign, log = ops.linalg_slogdet(A)
    return sign * log.exp()


def solve_by_qr(A, B, left, check_errors):
    """Solves Q R X = B. A matrix counts as singular where an element on the diagonal of R is below rounding.

    What stands in the place of its solution is not what torch's CPU leaves there, as no host waits to look for one.
    """
    is_vector = B.ndim == 1 or B.shape == A.shape[:-1]
    if is_vector:
        B = B.unsqueeze(-1)
    if not left:
        A, B = A.mT, B.mT
    Q, R = ops.linalg_qr(A)
    info = _first_zero(R.diagonal(dim1=-2, dim2=-1))
    if check_errors:
        raise_first_failure(info, "torch.linalg.solve", SINGULAR)
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
    found, position = (size <= size.amax(-1, True) * epsilon).to(int32).max(-1)
    return found * (position + 1)


def inverse_by_qr(A, check_errors):
    """The inverses, and which matrices are singular: columns of the solution for the identity."""
    unit = ops.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape)     # one alone could be n vectors
    inverse, info = solve_by_qr(A, unit, True, False)
    if check_errors:
        raise_first_failure(info, "linalg.inv", NOT_INVERTIBLE)
    return inverse, info


def checked_inverse(A):
    """The inverses by the kernel, which gives no infos. The host waits to see whether it found them all, as on CUDA."""
    inverse = ops._inverse(A)
    if not _size(inverse).isfinite().all():     # a pivot of zero leaves infinity or NaN; A may have had them, too
        raise_first_failure(lu_by_columns(A, True, False)[2], "linalg.inv", NOT_INVERTIBLE)
    return inverse


def svd_by_v(A, full_matrices, compute_uv):
    """The singular vectors on the right as V^H; ACLNN gives V."""
    U, S, V = ops._svd_with_v(A, full_matrices, compute_uv)
    return U, S, V.mH if compute_uv else V


# --- factorisations --------------------------------------------------------------------------------------------------

def _size(x):
    """The magnitude by which LAPACK compares pivots."""
    return ops.real(x).abs() + ops.imag(x).abs() if x.is_complex() else x.abs()


def _swapped(order, positions, k, other):
    """`order`, one for each matrix, with its elements at k and at `other` exchanged."""
    return ops.where(positions == k, order.gather(-1, other),
                     ops.where(positions == other, order[..., k:k + 1], order))


def lu_by_columns(A, pivot, check_errors):
    """L below the diagonal (its own is 1), U on and above it; pivots and infos count from 1."""
    rows, columns = A.shape[-2:]
    count = min(rows, columns)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the NPU")
    positions = ops.arange(rows, device=A.device).expand(A.shape[:-1])
    lu, pivots = A.clone(), A.new_zeros((*A.shape[:-2], count), dtype=int32)
    info = A.new_zeros(A.shape[:-2], dtype=int32)
    for k in range(count):
        chosen = _size(lu[..., k:, k]).argmax(-1, True) + k
        lu = lu.gather(-2, _swapped(positions, positions, k, chosen).unsqueeze(-1).expand(lu.shape))
        pivots[..., k:k + 1] = chosen + 1
        head = lu[..., k, k]
        info = ops.where((info == 0) & (head == 0), k + 1, info)
        column = lu[..., k + 1:, k] / ops.where(head == 0, 1, head).unsqueeze(-1)
        lu[..., k + 1:, k] = column
        lu[..., k + 1:, k + 1:] -= column.unsqueeze(-1) * lu[..., k:k + 1, k + 1:]
    if check_errors:
        raise_first_failure(info, "torch.linalg.lu_factor", ZERO_PIVOT, RuntimeError)
    return lu, pivots, info


def unpack_lu(LU, pivots, unpack_data, unpack_pivots):
    """The permutation, L and U; empty tensors for what is not asked for."""
    rows, columns = LU.shape[-2:]
    count = min(rows, columns)
    permutation = lower = upper = LU.new_zeros(0)
    if unpack_pivots:
        positions = ops.arange(rows, device=LU.device).expand(LU.shape[:-1])
        order = positions
        for k in range(count):
            order = _swapped(order, positions, k, (pivots[..., k:k + 1] - 1).long())
        permutation = (order.unsqueeze(-2) == positions.unsqueeze(-1)).to(LU.dtype)
    if unpack_data:
        lower = LU[..., :count].tril(-1) + ops.eye(rows, count, dtype=LU.dtype, device=LU.device)
        upper = LU[..., :count, :].triu()
    return permutation, lower, upper


def cholesky_by_columns(A, upper, check_errors):
    """The triangular factor, and the order of the first leading minor that is not positive definite."""
    A = A.mH if upper else A
    factor, info = ops.zeros_like(A), A.new_zeros(A.shape[:-2], dtype=int32)
    for k in range(A.shape[-1]):
        row = factor[..., k:k + 1, :k]
        column = A[..., k:, k] - (factor[..., k:, :k] * row.conj()).sum(-1)
        head = ops.real(column[..., :1])
        info = ops.where((info == 0) & ~(head > 0).squeeze(-1), k + 1, info)
        root = ops.where(head > 0, head, 1).sqrt()
        factor[..., k:, k] = column / root
    if check_errors:
        raise_first_failure(info, "linalg.cholesky", NOT_POSITIVE_DEFINITE)
    return factor.mH if upper else factor, info


def cholesky_solve_by_triangles(b, factor, upper):
    """X of A X = B for the A whose Cholesky factor is given."""
    lower, higher = (factor.mH, factor) if upper else (factor, factor.mH)
    return ops.triangular_solve(ops.triangular_solve(b, lower, False)[0], higher, True)[0]


def checked_cholesky(A, upper):
    """The factors by the kernel, which gives no infos. The host waits to see whether it found them all, as on CUDA."""
    factor = ops._cholesky(A, upper)
    if not (ops.real(factor.diagonal(dim1=-2, dim2=-1)) > 0).all():
        cholesky_by_columns(A, upper, True)
    return factor


def geqrf_by_columns(A):
    """Householder's reflectors, each below the diagonal with R on and above it, and their factors tau."""
    a, tau = A.clone(), A.new_zeros((*A.shape[:-2], min(A.shape[-2:])))
    for k in range(tau.shape[-1]):
        head, rest = a[..., k, k], a[..., k + 1:, k]
        tail = _squares(rest).sum(-1)
        norm = (_squares(head) + tail).sqrt()
        beta = ops.where(ops.real(head) < 0, norm, -norm)
        is_zero = (tail == 0) & (ops.imag(head) == 0) if A.is_complex() else tail == 0      # no reflection then
        factor = ops.where(is_zero, 0, (beta - head) / ops.where(is_zero, 1, beta))
        vector = ops.where(is_zero, 0, 1 / ops.where(is_zero, 1, head - beta)).unsqueeze(-1) * rest
        right = a[..., k:, k + 1:]
        reflector = ops.cat([ops.ones_like(head).unsqueeze(-1), vector], -1).unsqueeze(-1)
        right -= factor.conj()[..., None, None] * reflector * (reflector.conj() * right).sum(-2, True)
        a[..., k, k], a[..., k + 1:, k], tau[..., k] = ops.where(is_zero, head, beta.to(A.dtype)), vector, factor
    return a, tau


def _squares(x):
    return ops.real(x) * ops.real(x) + ops.imag(x) * ops.imag(x) if x.is_complex() else x * x


# --- symmetric matrices ----------------------------------------------------------------------------------------------
# The host reads the pivots, one matrix after the other.

_GROWTH = (1 + 17 ** 0.5) / 8


def ldl_by_blocks(A, hermitian, check_errors):
    """L below the diagonal, D in its blocks of one or two rows; pivots as LAPACK's sytrf has them: -k for a block."""
    if not A.numel():
        return A, A.new_zeros(A.shape[:-1], dtype=int32), A.new_zeros(A.shape[:-2], dtype=int32)
    found = [_factor_symmetric(matrix, hermitian) for matrix in A.reshape(-1, *A.shape[-2:])]
    factors, pivots, info = zip(*found, strict=True)
    info = A.new_tensor(info, dtype=int32).reshape(A.shape[:-2])
    if check_errors:
        raise_first_failure(info, "torch.linalg.ldl_factor_ex", ZERO_BLOCK, RuntimeError)
    return (ops.stack(factors).reshape(A.shape),
            A.new_tensor(pivots, dtype=int32).reshape(A.shape[:-1]), info)


def _adjoint(x, hermitian):
    return x.mH if hermitian else x.mT


def _factor_symmetric(A, hermitian):
    """The method of Bunch and Kaufman. `rest` is what is left to do, with both triangles."""
    diagonal = A.diagonal()
    rest, result = A.tril(-1), A.tril()
    rest = rest + _adjoint(rest, hermitian) + ops.diag(ops.real(diagonal).to(A.dtype) if hermitian else diagonal)
    pivots, info = [], 0
    while len(rest):
        k, order = len(pivots), list(range(len(rest)))
        width, pivot = _choose_pivot(rest)
        order[width - 1], order[pivot] = order[pivot], order[width - 1]
        rest = rest[order][:, order]
        pivots += [k + pivot + 1] if width == 1 else [-k - pivot - 1] * 2
        block, below, rest = rest[:width, :width], rest[width:, :width], rest[width:, width:]
        result[k:k + width, k:k + width] = block.tril()
        if width == 1 and block.item() == 0:
            info = info or k + 1
        elif len(rest):
            multipliers = _solve_block(block.mT, below.mT).mT
            rest = rest - multipliers @ _adjoint(below, hermitian)
            below = multipliers
        result[k + width:, k:k + width] = below
    return result, pivots, info


def _choose_pivot(a):
    """(1 or 2, the row that becomes the last one of a block of that many rows)."""
    size, *column = _size(a[:, 0]).tolist()
    largest = max(column, default=0.0)
    if size >= _GROWTH * largest:
        return 1, 0
    row = 1 + column.index(largest)
    others = _size(a[row]).tolist()
    own = others.pop(row)
    if size * max(others) >= _GROWTH * largest * largest:
        return 1, 0
    return (1 if own >= _GROWTH * max(others) else 2), row


def _solve_block(block, x):
    """X of block X = x, for one row or two."""
    if len(block) == 1:
        return x / block
    (a, b), (c, d) = block
    return ops.stack([d * x[0] - b * x[1], a * x[1] - c * x[0]]) / (a * d - b * c)


def ldl_solve_by_blocks(LD, pivots, B, hermitian):
    """X of A X = B, for the factors of A that ldl_by_blocks has found."""
    batch = ops.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    if not B.numel():
        return B.new_zeros((*batch, *B.shape[-2:]))
    LD, pivots, B = (x.expand(*batch, *x.shape[x.ndim - own:]).reshape(-1, *x.shape[x.ndim - own:])
                     for x, own in ((LD, 2), (pivots, 1), (B, 2)))
    found = [_solve_symmetric(*each, hermitian) for each in zip(LD, pivots.tolist(), B, strict=True)]
    return ops.stack(found).reshape(*batch, *B.shape[-2:])


def _solve_symmetric(a, pivots, x, hermitian):
    x, blocks, k = x.clone(), [], 0
    while k < len(a):
        end = k + (2 if pivots[k] < 0 else 1)
        blocks.append((slice(k, end), slice(end, None), [end - 1, abs(pivots[k]) - 1]))
        k = end
    for rows, below, swap in blocks:
        x[swap] = x[swap[::-1]]
        x[below] -= a[below, rows] @ x[rows]
        block = a[rows, rows].tril()
        x[rows] = _solve_block(block + _adjoint(block.tril(-1), hermitian), x[rows])
    for rows, below, swap in reversed(blocks):
        x[rows] -= _adjoint(a[below, rows], hermitian) @ x[below]
        x[swap] = x[swap[::-1]]
    return x


# --- eigenvalues -----------------------------------------------------------------------------------------------------

def _hermitian(A, UPLO):
    """The Hermitian matrix of one triangle."""
    triangle = A.tril() if UPLO in "Ll" else A.triu()
    halves = 1 - ops.eye(A.shape[-1], dtype=A.dtype, device=A.device) / 2
    return (triangle + triangle.mH) * halves


def eigh_by_svd(A, UPLO, vectors):
    """Eigenvalues, and vectors where asked for. Of a positive definite matrix they are the singular ones, so that a
    multiple of the identity, which makes it that, is added first.
    """
    A = _hermitian(A, UPLO)
    if not A.numel():
        return ops.real(A.diagonal(dim1=-2, dim2=-1)), A
    shift = A.abs().sum(-1).amax(-1)
    shifted = A + ops.eye(A.shape[-1], dtype=A.dtype, device=A.device) * shift[..., None, None]
    U, S, _ = ops._linalg_svd(shifted, False, vectors)
    return (S - shift.unsqueeze(-1)).flip(-1), U.flip(-1)


_MOST_STEPS = 300               # for one eigenvalue; two or three are usual


def eig_by_qr(A):
    """Eigenvalues and eigenvectors of any matrix: the QR algorithm makes it triangular, one row after the other.

    A step factors T - shift into Q R and goes on with R Q + shift, which has the same eigenvalues. The shift is near
    one of them, so that the last row outside the diagonal vanishes; then the same is done to the rows above. The
    matrices of a batch go on to the next row together.
    """
    if not bool(A.isfinite().all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    T = A if A.is_complex() else A.to(complex128 if A.dtype is float64 else complex64)
    if not A.numel():
        return T.diagonal(dim1=-2, dim2=-1), T
    size, Z = T.shape[-1], ops.eye(T.shape[-1], dtype=T.dtype, device=T.device)
    rounding = (T.abs().sum(-1).amax(-1, True) * (2.0 ** -52 if T.dtype is complex128 else 2.0 ** -23)).clamp(min=1e-37)
    for last in range(size - 1, 0, -1):
        for step in range(_MOST_STEPS):
            rest = T[..., last, :last].abs().sum(-1, True)
            if bool((rest <= rounding).all()):
                break
            # Now and then another shift: there are matrices that the usual one leaves as they are.
            shift = (_wilkinson_shift(T, last) if step % 10 < 9 else T[..., last, last, None] + rest).unsqueeze(-1)
            shift = shift * ops.eye(last + 1, dtype=T.dtype, device=T.device)
            Q, R = ops.linalg_qr(T[..., :last + 1, :last + 1] - shift)
            done = ops.cat([R @ Q + shift, Q.mH @ T[..., :last + 1, last + 1:]], -1)
            T = ops.cat([done, T[..., last + 1:, :]], -2)
            Z = ops.cat([Z[..., :last + 1] @ Q, Z[..., last + 1:].expand(*Q.shape[:-2], size, -1)], -1)
        else:
            raise RuntimeError("torch.linalg.eig: the algorithm failed to converge.")
    values, vectors = T.diagonal(dim1=-2, dim2=-1), Z @ _vectors_of_triangle(T, rounding)
    vectors = vectors / _squares(vectors).sum(-2, True).sqrt()
    largest = vectors.gather(-2, vectors.abs().argmax(-2, True))
    vectors = vectors * largest.conj() / largest.abs()           # as LAPACK: the largest element is real
    if A.is_complex():
        return values, vectors
    # Eigenvalues of real matrices are real, or come in pairs: what rounding has left of an imaginary part goes.
    is_real = ops.imag(values).abs() <= size * rounding
    return (ops.where(is_real, ops.real(values), values),
            ops.where(is_real.unsqueeze(-2), ops.real(vectors), vectors))


def _wilkinson_shift(T, last):
    """Of the last 2 x 2 matrix on the diagonal the eigenvalue that is nearer to its last element."""
    a, b, c, d = (T[..., row, column, None] for row in (last - 1, last) for column in (last - 1, last))
    half = (a - d) / 2
    root = (half * half + b * c).sqrt()
    root = ops.where((half - root).abs() > (half + root).abs(), -root, root)
    sum_ = half + root
    return d - ops.where(sum_ == 0, 0, b * c / ops.where(sum_ == 0, 1, sum_))


def _vectors_of_triangle(T, rounding):
    """The eigenvectors of an upper triangular matrix as columns, from the last row of each to the first.

    A column whose new element is above 1 is divided by that: where eigenvalues are equal, elements would overflow.
    """
    size = T.shape[-1]
    values = T.diagonal(dim1=-2, dim2=-1)
    vectors = ops.eye(size, dtype=T.dtype, device=T.device).expand(T.shape).clone()
    for row in range(size - 2, -1, -1):
        gap = values[..., row + 1:] - values[..., row:row + 1]
        gap = ops.where(gap.abs() <= rounding, rounding.to(T.dtype), gap)       # equal eigenvalues
        others = (T[..., row:row + 1, row + 1:] @ vectors[..., row + 1:, row + 1:]).squeeze(-2)
        vectors[..., row, row + 1:] = others / gap
        vectors = vectors / vectors[..., row:row + 1, :].abs().clamp(min=1)
    return vectors
