"""Formulas of Fourier transforms, which ACLNN lacks: products with matrices of roots of unity. See compositions.py.

A length is split into factors of at most 64, as Cooley and Tukey did, so the matrices stay small; a large prime costs
its square. Numbers are pairs of real and imaginary parts here.
"""
from math import pi, prod, sqrt

from mindtorch._ops.derivatives import ops

_LARGEST = 64


def _roots(rows, columns, length, sign, like):
    """exp(sign 2 pi i j k / length); j k is reduced first, so that angles are exact."""
    turns = ops.arange(rows, device=like.device).unsqueeze(1) * ops.arange(columns, device=like.device)
    angles = (turns % length).to(like.dtype) * (2 * pi / length)
    return angles.cos(), angles.sin() * sign


def _product(a, b, multiply):
    return (multiply(a[0], b[0]) - multiply(a[1], b[1]), multiply(a[0], b[1]) + multiply(a[1], b[0]))


def _along_last(pair, sign):
    length = pair[0].shape[-1]
    factor = max((d for d in range(1, _LARGEST + 1) if length % d == 0), default=1)
    if factor in (1, length):
        return _product(pair, _roots(length, length, length, sign, pair[0]), ops.matmul)
    rest = length // factor
    # With places factor * a + b and frequencies c + rest * d: over a first, then over b.
    inner = _along_last([part.unflatten(-1, (rest, factor)).transpose(-1, -2) for part in pair], sign)
    turned = _product(inner, _roots(factor, rest, length, sign, pair[0]), ops.mul)
    outer = _along_last([part.transpose(-1, -2) for part in turned], sign)
    return [part.transpose(-1, -2).flatten(-2) for part in outer]


def _transformed(pair, dim, normalization, forward):
    """Over all dimensions of `dim`; normalization 1 divides by the root of the number of elements, 2 by that number."""
    for d in dim:
        pair = [part.transpose(d, -1) for part in _along_last([part.transpose(d, -1) for part in pair],
                                                              -1 if forward else 1)]
    count = prod(pair[0].shape[d] for d in dim)
    scale = (1, 1 / sqrt(count), 1 / count)[normalization]
    return pair if scale == 1 else [part * scale for part in pair]


def complex_to_complex(x, dim, normalization, forward):
    return ops.complex(*_transformed((ops.real(x), ops.imag(x)), dim, normalization, forward))


def real_to_complex(x, dim, normalization, onesided):
    pair = _transformed((x, ops.zeros_like(x)), dim, normalization, True)
    if onesided:
        pair = [part.narrow(dim[-1], 0, x.shape[dim[-1]] // 2 + 1) for part in pair]
    return ops.complex(*pair)


def complex_to_real(x, dim, normalization, length):
    """The second half of the spectrum is the first one's conjugate, in reverse order."""
    known = length // 2 + 1
    pair = [part.narrow(dim[-1], 0, known) for part in (ops.real(x), ops.imag(x))]
    if len(dim) > 1:        # the other dimensions first: the conjugate would be reversed in these too
        pair = _transformed(pair, dim[:-1], 0, False)
    rest = [part.narrow(dim[-1], 1, length - known).flip(dim[-1]) for part in pair]
    pair = ops.cat([pair[0], rest[0]], dim[-1]), ops.cat([pair[1], -rest[1]], dim[-1])
    count = prod(x.shape[d] for d in dim[:-1]) * length
    return _transformed(pair, dim[-1:], 0, False)[0] * (1, 1 / sqrt(count), 1 / count)[normalization]
