"""Distances of rows by norms of differences, and their gradients."""
from math import inf

from mindtorch._ops.derivatives import ops


def distances(x1, x2, p):
    """p-norms of the differences of all rows of one batch of matrices to those of another."""
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if difference.shape[-1] == 0:                   # the norm of nothing: some of them are refused
        return difference.sum(-1)
    return ops.linalg_vector_norm(difference, p, (-1,))


def _largest(difference):
    """The inf-norm, told from the very differences that are compared with it."""
    return difference.abs().amax(-1, True)


def distances_backward(grad, x1, x2, p, result):
    """The gradient of x1; 0 along coordinates that are equal, and where a distance is 0."""
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    result, slope = result.unsqueeze(-1), ops.sgn(difference)
    if p == 0:
        slope = slope * 0
    elif p == inf:
        slope = slope * (difference.abs() == _largest(difference))
    elif p != 1:
        share = slope * (difference.abs() / result) ** (p - 1)
        slope = ops.where((result == 0) | (difference == 0), 0.0, share)
    return (grad.unsqueeze(-1) * slope).sum(-2)


def distances_double_backward(grad, grad_output, x1, x2, p, result):
    """Gradients of all that distances_backward takes, from that of its result.

    With d a difference and r its distance, the slope is s = sgn(d) (|d| / r)^(p - 1), which grows with d by
    (p - 1) |d / r|^(p - 2) / r, and with r by (1 - p) s / r.
    """
    difference, over = x1.unsqueeze(-2) - x2.unsqueeze(-3), grad.unsqueeze(-2)
    far, sign = result.unsqueeze(-1), ops.sgn(difference)
    if p in (0, 1, inf):
        slope = sign * (0 if p == 0 else 1 if p == 1 else difference.abs() == _largest(difference))
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
    """The flat places, in the matrix of all pairs, of those with the first row above the second."""
    rows = ops.arange(self.shape[0], device=self.device)
    return (rows > rows.unsqueeze(1)).reshape(-1).nonzero().squeeze(1)


def distances_of_pairs(self, p):
    """Those of the rows of one matrix, each pair once."""
    return distances(self, self, p).reshape(-1).index_select(0, _pairs(self))


def distances_of_pairs_backward(grad, self, p, result):
    """The gradient, by the matrix of all pairs: a distance belongs to both of its rows."""
    rows = self.shape[0]
    places = _pairs(self)

    def of_all(values):
        upper = values.new_zeros((rows * rows,)).scatter(0, places, values).reshape(rows, rows)
        return upper + upper.mT
    return ops._cdist_backward(of_all(grad), self, self, p, of_all(result))
