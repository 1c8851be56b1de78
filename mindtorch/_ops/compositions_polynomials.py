"""Formulas of orthogonal polynomials, by their recurrences: section 18.9 of dlmf.nist.gov."""
from mindtorch._core._gen import direct as run
from mindtorch._ops.compositions_tables import in_pieces
from mindtorch._ops.derivatives import ops


def _polynomial(x, n, slope, start, step, out):
    """p_0 = 1, p_1 = slope x + start, p_{k+1} = (a x + b) p_k - c p_{k-1} with (a, b, c) = step(k).

    n is cut to an integer; below 0 the result is 0. All degrees are computed, and each element takes its own: this
    waits for the highest.
    """
    x = x.to(out.device).view((1,) * (out.ndim - x.ndim) + tuple(x.shape))
    place = n.trunc().add_(1).clamp_(min=0).long()      # of p_n in a table that begins with p_{-1} = 0
    highest = int(place.max().item())

    def compute(x, place, out):
        table = ops.empty((max(highest, 1) + 1, *x.shape), dtype=x.dtype, device=x.device)
        rows = table.unbind()
        rows[0].zero_()
        rows[1].fill_(1)
        for k in range(highest - 1):
            a, b, c = step(k) if k else (slope, start, 0)
            now, following = rows[k + 1], rows[k + 2]
            run.mul_Tensor(x, now, following)
            if a != 1:
                run.mul_Scalar(following, a, following)
            if b:
                run.add_Tensor(following, now, b, following)
            if c:
                run.add_Tensor(following, rows[k], -c, following)
        if place.numel() == 1:
            return out.copy_(rows[highest])
        index = place.expand(out.shape).unsqueeze(0)
        ops.gather(table.expand(-1, *out.shape), 0, index, out=out.unsqueeze(0))
        return out
    return in_pieces(highest + 1, compute, out, x, place)


def chebyshev(x, n, slope, start, out):
    return _polynomial(2 * x, n, slope / 2, start, lambda k: (1, 0, 1), out)


def hermite(x, n, scale, out):
    """H_n for scale 2, He_n for scale 1."""
    return _polynomial(x if scale == 1 else scale * x, n, 1, 0, lambda k: (1, 0, scale * k), out)


def laguerre(x, n, out):
    return _polynomial(x, n, -1, 1, lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)), out)


def legendre(x, n, out):
    return _polynomial(x, n, 1, 0, lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1)), out)
