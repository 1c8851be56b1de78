"""Derivatives of matrix products, linear algebra and Fourier transforms. A^H is the conjugate transpose."""
from math import inf, nan

from mindtorch._ops.derivatives.reduce import scaled, unreduced
from mindtorch._ops.operators import ops

# --- matrix products -------------------------------------------------------------------------------------------------

def _column_major(shape, stride):
    return stride[0] == 1 and stride[1] == shape[0] and shape[0] != 1


def mm_backward_self(grad, mat2, shape, stride, alpha):
    """grad @ mat2.T, with the memory order of self."""
    product = mat2.conj().mm(grad.t()).t() if _column_major(shape, stride) else grad.mm(mat2.t().conj())
    return scaled(product, alpha)


def mm_backward_mat2(grad, self, shape, stride, alpha):
    """self.T @ grad, with the memory order of mat2."""
    product = grad.t().mm(self.conj()).t() if _column_major(shape, stride) else self.t().conj().mm(grad)
    return scaled(product, alpha)


def _adjoint(tensor):
    return tensor.transpose(-1, -2).conj()


def matmul_backward_self(grad, self, other):
    """Of matmul in all its forms; the engine sums over broadcast dimensions."""
    if self.dim() == 1 and other.dim() == 1:
        return grad * other.conj()
    if self.dim() == 1:
        return (grad.unsqueeze(-2) @ _adjoint(other)).squeeze(-2)
    if other.dim() == 1:
        return grad.unsqueeze(-1) * other.conj()
    if self.dim() == 2 and other.dim() == 2:
        return mm_backward_self(grad, other, self.shape, self.stride(), 1)
    return grad @ _adjoint(other)


def matmul_backward_other(grad, self, other):
    """Of matmul in all its forms; the engine sums over broadcast dimensions."""
    if self.dim() == 1 and other.dim() == 1:
        return grad * self.conj()
    if other.dim() == 1:
        return (_adjoint(self) @ grad.unsqueeze(-1)).squeeze(-1)
    if self.dim() == 1:
        return self.conj().unsqueeze(-1) * grad.unsqueeze(-2)
    if other.dim() == 2:
        return mm_backward_mat2(grad.flatten(0, -2), self.flatten(0, -2), other.shape, other.stride(), 1)
    return _adjoint(self) @ grad


# --- linear algebra --------------------------------------------------------------------------------------------------

def _rows_and_columns(tensor):
    rows, columns = tensor.shape[-2:]
    return (ops.arange(rows, device=tensor.device).unsqueeze(-1), ops.arange(columns, device=tensor.device))


def _lower(tensor, offset=0):
    """tril: zeros above the diagonal, even where NaN stood."""
    row, column = _rows_and_columns(tensor)
    return ops.where(row + offset >= column, tensor, ops.zeros_like(tensor))


def _upper(tensor, offset=0):
    """triu: zeros below the diagonal."""
    row, column = _rows_and_columns(tensor)
    return ops.where(row + offset <= column, tensor, ops.zeros_like(tensor))


def _with_diagonal(matrix, diagonal):
    """The square matrix with another diagonal: a vector, or one number."""
    row, column = _rows_and_columns(matrix)
    if not isinstance(diagonal, (int, float)):
        diagonal = diagonal.unsqueeze(-1)
    return ops.where(row == column, diagonal, matrix)


def _real(tensor):
    """The real part: the inverse real transform of a spectrum of one element."""
    return ops._fft_c2r(tensor.unsqueeze(-1), [tensor.dim()], 0, 1).squeeze(-1)


def _skew(matrix):
    return matrix - _adjoint(matrix)


# --- inverses and solutions ------------------------------------------------------------------------------------------

def inverse_backward(grad, result):
    """-A^-H @ grad @ A^-H."""
    adjoint = _adjoint(result)
    return -(adjoint @ grad @ adjoint)


def _solve_vectors(A, B):
    return B.dim() == 1 or B.shape == A.shape[:-1]


def solve_backward_B(grad, A, B, left):
    """The solution for A^H and the gradient."""
    if _solve_vectors(A, B):
        return ops.linalg_solve_ex(_adjoint(A), grad.unsqueeze(-1))[0].squeeze(-1)
    return ops.linalg_solve_ex(_adjoint(A), grad, left=left)[0]


def solve_backward_A(grad, A, B, result, left):
    """-grad_B @ X^H, or -X^H @ grad_B where the equation is X A = B."""
    grad_B = solve_backward_B(grad, A, B, left)
    if _solve_vectors(A, B):
        return -(grad_B.unsqueeze(-1) * result.unsqueeze(-2).conj())
    return -(grad_B @ _adjoint(result)) if left else -(_adjoint(result) @ grad_B)


def triangular_solve_backward(grads, A, result, upper, transpose, unitriangular, wanted):
    """The solution for op(A)^H and the gradient, grad_B; and -grad_B @ X^H in the triangle that was read.

    The copy of A adds its own gradient.
    """
    grad, of_copy = grads
    if grad is None:
        return ops.zeros_like(result), of_copy
    grad_B = ops.triangular_solve(grad, A.conj(), upper, not transpose, unitriangular)[0]
    if not wanted[1]:
        return grad_B, None
    product = -(result.conj() @ grad_B.transpose(-1, -2)) if transpose else -(grad_B @ _adjoint(result))
    offset = 1 if unitriangular else 0
    product = _upper(product, offset) if upper else _lower(product, -offset)
    return grad_B, product if of_copy is None else product + of_copy


def cholesky_solve_backward(grad, result, factor, upper, wanted):
    """The solution for the gradient, grad_B; and -(G + G^H) @ L for G = grad_B @ X^H, or -U @ (G + G^H).

    As in torch, the triangle that the function does not read has a gradient, too.
    """
    grad_B = ops.cholesky_solve(grad, factor, upper)
    if not wanted[1]:
        return grad_B, None
    product = grad_B @ _adjoint(result)
    both = product + _adjoint(product)
    return grad_B, -(factor @ both if upper else both @ factor)


# --- factorisations --------------------------------------------------------------------------------------------------

def _left_inverse_upper(matrix, upper):
    """upper^-1 @ matrix."""
    return ops.triangular_solve(matrix, upper, True)[0]


def _right_inverse_lower(matrix, lower):
    """matrix @ lower^-1, by way of its conjugate transpose."""
    return _adjoint(_left_inverse_upper(_adjoint(matrix), _adjoint(lower)))


def cholesky_backward(grad, result, upper):
    """L^-H @ symmetric(tril(L^H @ grad)) @ L^-1."""
    lower, grad = (_adjoint(result), _adjoint(grad)) if upper else (result, grad)
    inner = _lower(_adjoint(lower) @ grad)
    inner = (inner + _adjoint(_lower(inner, -1))) / 2
    inner = _with_diagonal(inner, (inner + _adjoint(inner)).diagonal(0, -2, -1) / 2)
    return _right_inverse_lower(_left_inverse_upper(inner, _adjoint(lower)), lower)


def qr_backward(grads, q, r, mode):
    """The gradient of the reduced decomposition. For a wide A: of its square part, plus a term of the other columns."""
    of_q, of_r = grads
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "torch.linalg.qr(A, mode='reduced') if you are going to require gradients")
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if rows >= columns:
        return _tall_qr_backward(of_q, of_r, q, r)
    square, rest = r[..., :rows], r[..., rows:]
    of_square, of_rest = (None, None) if of_r is None else (of_r[..., :rows], of_r[..., rows:])
    if of_rest is None:
        of_wide = ops.zeros_like(q @ rest)
    else:
        added = q @ rest @ _adjoint(of_rest)
        of_q = added if of_q is None else of_q + added
        of_wide = q @ of_rest
    return ops.cat([_tall_qr_backward(of_q, of_square, q, square), of_wide], -1)


def _tall_qr_backward(of_q, of_r, q, r):
    """(grad_Q + Q @ symmetric(triu(grad_R @ R^H - Q^H @ grad_Q))) @ R^-H."""
    inner = 0
    if of_r is not None:
        inner = of_r @ _adjoint(r)
    if of_q is not None:
        inner = inner - _adjoint(q) @ of_q
    inner = _upper(inner)
    both = inner + _adjoint(inner)
    product = q @ _with_diagonal(both, both.diagonal(0, -2, -1) / 2)
    return _right_inverse_lower(product if of_q is None else product + of_q, _adjoint(r))


def svd_backward(grads, u, s, vh, full_matrices, compute_uv):
    """Through the singular vectors where they matter; the formula is singular where two singular values are equal."""
    of_u, of_s, of_vh = grads
    if not compute_uv:
        raise RuntimeError("svd_backward: Setting compute_uv to false in torch.svd doesn't compute singular matrices, "
                           "and hence we cannot compute backward. Please use torch.svd(compute_uv=True)")
    count = s.shape[-1]
    if full_matrices:
        u, vh = u[..., :count], vh[..., :count, :]
        of_u = None if of_u is None else of_u[..., :count]
        of_vh = None if of_vh is None else of_vh[..., :count, :]
    if of_u is None and of_vh is None:
        return (u * of_s.to(u.dtype).unsqueeze(-2)) @ vh
    v, of_v = _adjoint(vh), None if of_vh is None else _adjoint(of_vh)
    values = s.to(u.dtype).unsqueeze(-2)
    inner = _svd_inner(of_u, of_s, of_v, u, s, v)
    product = u @ inner @ vh
    if of_u is not None and u.shape[-2] > count:
        outside = of_u / values
        product = product + (outside - u @ (_adjoint(u) @ outside)) @ vh
    if of_v is not None and v.shape[-2] > count:
        outside = of_v / values
        product = product + u @ _adjoint(outside - v @ (_adjoint(v) @ outside))
    return product


def _svd_inner(of_u, of_s, of_v, u, s, v):
    """The gradient in the basis of the singular vectors."""
    squares = s * s
    gaps = _with_diagonal(squares.unsqueeze(-2) - squares.unsqueeze(-1), 1.0).to(u.dtype)
    values = s.to(u.dtype)
    inner, diagonal = 0, None if of_s is None else of_s.to(u.dtype)
    if of_u is not None:
        turned = _skew(_adjoint(u) @ of_u)
        inner = inner + turned / gaps * values.unsqueeze(-2)
        if u.is_complex():
            phases = turned.diagonal(0, -2, -1) / (2 * values)
            diagonal = phases if diagonal is None else diagonal + phases
    if of_v is not None:
        inner = inner + values.unsqueeze(-1) * (_skew(_adjoint(v) @ of_v) / gaps)
    return _with_diagonal(inner, ops.zeros_like(values) if diagonal is None else diagonal)


# --- eigenvalues -----------------------------------------------------------------------------------------------------

def eigvalsh_backward(grad, self, UPLO):
    """V @ diag(grad) @ V^H."""
    vectors = ops.linalg_eigh(self, UPLO)[1]
    return (vectors * grad.to(vectors.dtype).unsqueeze(-2)) @ _adjoint(vectors)


def _eigen_inner(of_values, projected, values):
    gaps = _with_diagonal((values.unsqueeze(-2) - values.unsqueeze(-1)).conj(), 1.0).to(projected.dtype)
    diagonal = ops.zeros_like(values) if of_values is None else of_values
    return _with_diagonal(projected / gaps, diagonal.to(projected.dtype))


def eigh_backward(grads, values, vectors):
    """V @ (V^H @ grad_V / gaps, with the gradient of the eigenvalues on the diagonal) @ V^H."""
    of_values, of_vectors = grads
    if of_vectors is None:
        return (vectors * of_values.to(vectors.dtype).unsqueeze(-2)) @ _adjoint(vectors)
    return vectors @ _eigen_inner(of_values, _adjoint(vectors) @ of_vectors, values) @ _adjoint(vectors)


def eig_backward(grads, values, vectors, dtype):
    """V^-H @ (projected V^H @ grad_V / gaps, with the gradient of the eigenvalues on the diagonal) @ V^H."""
    of_values, of_vectors = grads
    turned = _adjoint(vectors)
    if of_vectors is None:
        inner = of_values.unsqueeze(-1) * turned
    else:
        projected = turned @ of_vectors
        lengths = projected.diagonal(0, -2, -1)
        projected = projected - turned @ (vectors * ((lengths + lengths.conj()) / 2).unsqueeze(-2))
        inner = _eigen_inner(of_values, projected, values) @ turned
    result = ops.linalg_solve_ex(turned, inner)[0]
    return result if dtype.is_complex else _real(result)


# --- determinants ----------------------------------------------------------------------------------------------------

def slogdet_backward(grads, A, sign):
    """A^-H, times the gradient of the logarithm and, of complex matrices, that of the phase."""
    of_sign, of_log = grads
    factor = 0 if of_log is None else of_log.to(A.dtype)
    if A.is_complex() and of_sign is not None:
        turn = of_sign.conj() * sign
        factor = factor - (turn - turn.conj()) / 2
    elif of_log is None:
        return ops.zeros_like(A)
    of_diagonal = factor.unsqueeze(-1).expand(A.shape[:-1]).diag_embed()
    return ops.linalg_solve_ex(_adjoint(A), of_diagonal)[0]         # not finite where a matrix is singular


def det_backward(grad, A, result):
    """det(A)^* A^-H; by way of the singular values where some matrix is singular."""
    if A.is_meta or not ops.any(result == 0).item():
        return _adjoint(ops.linalg_inv(A)) * (grad * result.conj()).unsqueeze(-1).unsqueeze(-1)
    u, s, vh = ops._linalg_svd(A)
    others = _with_diagonal(s.log().unsqueeze(-2).expand(A.shape), 0.0).sum(-1).exp().to(A.dtype)
    phase = (ops.linalg_det(u) * ops.linalg_det(vh)).conj() * grad
    return (u * others.unsqueeze(-2)) @ vh * phase.unsqueeze(-1).unsqueeze(-1)


# --- LU --------------------------------------------------------------------------------------------------------------

def lu_unpack_backward(of_lower, of_upper, shape):
    """The two triangles in one matrix of that shape."""
    rows, columns = shape[-2:]
    lower, upper = _lower(of_lower, -1), _upper(of_upper)
    if columns > rows:
        lower = ops.cat([lower, lower.new_zeros((*shape[:-1], columns - rows))], -1)
    if rows > columns:
        upper = ops.cat([upper, upper.new_zeros((*shape[:-2], rows - columns, columns))], -2)
    return lower + upper


def lu_factor_backward(grad, lu, pivots, pivot):
    """P @ L^-H @ (tril(L^H @ grad_L, -1) + triu(grad_U @ U^H)) @ U^-H, with what is beyond the square part."""
    permutation, lower, upper = ops.lu_unpack(lu, pivots)
    rows, columns = lu.shape[-2:]
    count = min(rows, columns)
    of_lower, of_upper = _lower(grad[..., :count], -1), _upper(grad[..., :count, :])
    first, square = lower[..., :count, :], upper[..., :count]
    of_first, of_square, more = of_lower[..., :count, :], of_upper[..., :count], None
    if rows > columns:
        more = _right_inverse_lower(of_lower[..., count:, :], _adjoint(square))
        of_square = of_square - _adjoint(lower[..., count:, :]) @ more
    elif columns > rows:
        more = _left_inverse_upper(of_upper[..., count:], _adjoint(first))
        of_first = of_first - more @ _adjoint(upper[..., count:])
    inner = _lower(_adjoint(first) @ of_first, -1) + _upper(of_square @ _adjoint(square))
    result = _right_inverse_lower(_left_inverse_upper(inner, _adjoint(first)), _adjoint(square))
    if more is not None:
        result = ops.cat([result, more], -2 if rows > columns else -1)
    return permutation @ result if pivot else result


# --- norms -----------------------------------------------------------------------------------------------------------

def _direction(tensor):
    """Each element over its size; 0 stays 0, and a real NaN becomes 0."""
    if not tensor.is_complex():
        return tensor.sign()
    size = tensor.abs()
    return ops.where(size == 0, ops.zeros_like(tensor), tensor / size)


def vector_norm_backward(grad, self, ord, dim, keepdim, result):
    """The direction of each element, times the derivative of the norm by its size."""
    ord = ord.real if isinstance(ord, complex) else ord
    if ord == 0:
        return None                     # a count, which is no function of them
    grad, norm = (unreduced(each, self.shape, dim, keepdim) for each in (grad, result))
    if ord == 1:
        return _direction(self) * grad
    if ord == 2:
        return grad * (self / norm).masked_fill(norm == 0, 0)       # the second derivative at 0 is NaN
    size = self.abs()
    if ord in (float("inf"), float("-inf")):
        hit = (size == norm) | (size.isnan() & norm.isnan())
        count = hit.sum() if not dim else hit.sum(dim, keepdim=True)
        return _direction(self) * (grad / count) * hit
    if ord < 1:
        slope = grad / norm.pow(ord - 1)
        return _direction(self) * ops.where(size == 0, ops.zeros_like(size), size.pow(ord - 1)) * slope
    slope = grad / norm.masked_fill(norm == 0, float("inf")).pow(ord - 1)
    return _direction(self) * size.pow(ord - 1) * slope


# --- Fourier transforms ----------------------------------------------------------------------------------------------

def fft_r2c_backward(grad, shape, dim, normalization, onesided):
    """The real part of the inverse transform; what the forward transform left out has no gradient."""
    last = dim[-1]
    if onesided and shape[last] > grad.shape[last]:
        missing = [*grad.shape]
        missing[last] = shape[last] - grad.shape[last]
        grad = ops.cat([grad, grad.new_zeros(missing)], last)
    return _real(ops._fft_c2c(grad, dim, normalization, False))


def fft_c2r_backward(grad, dim, normalization):
    """The transform; elements that stood for their conjugates as well count twice."""
    length = grad.shape[dim[-1]]
    result = ops._fft_r2c(grad, dim, normalization, True)
    last = dim[-1] - grad.dim()
    position = ops.arange(result.shape[last], device=grad.device)
    twice = (position >= 1) & (position <= length - result.shape[last])
    weight = ops.where(twice, 2.0, 1.0).to(grad.dtype).reshape([-1, *[1] * (-1 - last)])
    return result * weight


# --- distances -------------------------------------------------------------------------------------------------------

def _differences(x1, x2):
    """Of all rows of one batch of matrices to those of another."""
    return x1.unsqueeze(-2) - x2.unsqueeze(-3)


def _without_nan(difference):
    """The largest difference is that of numbers: a NaN beside them does not count in torch's cdist."""
    return ops.where(difference.isnan(), 0.0, difference)


def distances(x1, x2, p):
    """p-norms of the differences of all rows of one batch of matrices to those of another."""
    difference = _differences(x1, x2)
    return _lengths(_without_nan(difference) if p == inf else difference, p)


def _lengths(difference, p):
    """p-norms along the last dimension, NaN where a coordinate is."""
    if difference.shape[-1] == 0:           # vector_norm refuses the largest of nothing, which is 0 here
        return difference.sum(-1)
    if p == 0:                              # a norm counts NaN as one that is not 0; it makes a distance NaN
        return ops.where(difference.isnan(), difference, difference != 0).sum(-1)
    return ops.linalg_vector_norm(difference, p, (-1,))


def _slope_of_largest(difference, result):
    """That of the inf-norm, which is found from the same differences; NaN at infinity and of NaN, as in torch."""
    largest = _without_nan(difference).abs().amax(-1, True)
    return ops.where(difference.isfinite() & ~result.isnan(), ops.sgn(difference) * (difference.abs() == largest), nan)


def _sign(difference):
    """That of NaN is NaN, which is 0 in sgn."""
    return ops.where(difference.isnan(), difference, ops.sgn(difference))


def distances_backward(grad, x1, x2, p, result):
    """The gradient of x1; 0 along coordinates that are equal, and where a distance is 0."""
    difference = _differences(x1, x2)
    result, slope = result.unsqueeze(-1), _sign(difference)
    if p == 0:
        slope = ops.zeros_like(slope)
    elif p == inf:
        slope = _slope_of_largest(difference, result)
    elif p != 1:
        share = slope * (difference.abs() / result) ** (p - 1)
        slope = ops.where((result == 0) | (difference == 0), 0.0, share)
    return (grad.unsqueeze(-1) * slope).sum(-2)


def distances_double_backward(grad, grad_output, x1, x2, p, result):
    """Gradients of all that distances_backward takes, from that of its result.

    With d a difference and r its distance, the slope is s = sgn(d) (|d| / r)^(p - 1), which grows with d by
    (p - 1) |d / r|^(p - 2) / r, and with r by (1 - p) s / r.
    """
    difference, over = _differences(x1, x2), grad.unsqueeze(-2)
    far, sign = result.unsqueeze(-1), _sign(difference)
    if p in (0, 1, inf):
        slope = ops.zeros_like(sign) if p == 0 else sign if p == 1 else _slope_of_largest(difference, far)
        nothing = ops.zeros_like
        return (over * slope).sum(-1), nothing(x1), nothing(x2), nothing(result)
    still = (far == 0) | (difference == 0)
    far, share = ops.where(still, 1.0, far), ops.where(still, 1.0, difference.abs() / far)
    slope = ops.where(still, 0.0, sign * share ** (p - 1))
    bend = ops.where(still, 0.0, (p - 1) * share ** (p - 2) / far)
    weight = over * grad_output.unsqueeze(-1)
    of_difference = weight * bend
    return ((over * slope).sum(-1), of_difference.sum(-2), -of_difference.sum(-3),
            ((1 - p) * weight * slope / far).sum(-1))


def _pairs(self):
    """The indices of the first and the second rows of all pairs, the first above the second."""
    return ops.triu_indices(self.shape[0], self.shape[0], 1, device=self.device)


def distances_of_pairs(self, p):
    """Those of the rows of one matrix, each pair once."""
    first, second = (self.index_select(0, rows) for rows in _pairs(self))
    return _lengths(first - second, p)


def distances_of_pairs_backward(grad, self, p, result):
    """The gradient: what a distance adds to one of its rows it takes from the other; none is of a row and itself."""
    rows, columns = self.shape
    of_first, of_second = _pairs(self)
    first, second = (self.index_select(0, each).unsqueeze(1) for each in (of_first, of_second))
    given = ops._cdist_backward(grad.reshape(-1, 1, 1), first, second, p, result.reshape(-1, 1, 1)).squeeze(1)
    upper = self.new_zeros((rows * rows, columns)).index_copy(0, of_first * rows + of_second, given)
    upper = upper.reshape(rows, rows, columns)
    return upper.sum(1) - upper.sum(0)
