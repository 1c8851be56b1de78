"""Fourier transforms, which ACLNN lacks: products with matrices of roots of unity.

A length is split into factors of at most 64, as Cooley and Tukey did, so the matrices stay small; a large prime costs
its square. Complex numbers are pairs of real ones here, (..., 2), and a short line of them is transformed by one real
matrix, which also scales.
"""
from math import pi, prod

import numpy

from mindtorch._core.tensor.factories import cached_constant
from mindtorch._ops.operators import ops

_LARGEST = 64
_KEPT = 1 << 16         # roots of unity that stay on the device


def _roots_of_unity(rows, columns, length, sign):
    """The roots with the angles sign 2 pi j k / length; j k is reduced first, so that angles are exact.

    So are quarters of a turn: a sine of pi that is not 0 would give a transform an imaginary part that it has not.
    """
    turns = numpy.outer(numpy.arange(rows), numpy.arange(columns)) % length
    quarters = numpy.array([1, 1j, -1, -1j])[turns * 4 // length]
    roots = numpy.exp(2j * pi / length * turns)
    roots = numpy.where(turns * 4 % length == 0, quarters, roots)
    return roots if sign > 0 else roots.conj()


def _matrix_of_pairs(length, scale, sign):
    """The transform of complex numbers as a matrix that multiplies rows of (real, imaginary) pairs."""
    roots = _roots_of_unity(length, length, length, sign) * scale
    parts = [[roots.real, roots.imag], [-roots.imag, roots.real]]      # of the real number, and of the imaginary one
    return numpy.transpose(parts, (2, 0, 3, 1)).reshape(2 * length, 2 * length)


def _matrix_of_real(length, scale, known):
    """From real numbers to pairs, the first `known` of them."""
    roots = _roots_of_unity(length, known, length, -1) * scale
    return numpy.stack([roots.real, roots.imag], -1).reshape(length, -1)


def _matrix_to_real(length, scale):
    """From the pairs of half a spectrum, whose other half is the conjugate."""
    roots = _roots_of_unity(length // 2 + 1, length, length, 1) * scale
    roots[1:(length + 1) // 2] *= 2
    return numpy.stack([roots.real, -roots.imag], 1).reshape(-1, length)


def _roots(rows, columns, length, sign, like):
    """The same, made on the device: (cosines, sines)."""
    turns = ops.arange(rows, device=like.device).unsqueeze(1) * ops.arange(columns, device=like.device)
    angles = (turns % length).to(like.dtype) * (2 * pi / length)
    return angles.cos(), angles.sin() * sign


def _fft_last_dim(pairs, sign, scale):
    """The transform along the last dimension but one; the last one holds (real, imaginary)."""
    length = pairs.shape[-2]
    if length == 1:         # no product, which would lose the sign of a zero
        return pairs if scale == 1.0 else pairs * scale
    if length <= _LARGEST:
        matrix = cached_constant(pairs, _matrix_of_pairs, length, scale, sign)
        return ops.matmul(pairs.flatten(-2), matrix).unflatten(-1, (length, 2))
    factor = max(d for d in range(1, _LARGEST + 1) if length % d == 0)
    if factor == 1:
        (real, imag), (c, s) = pairs.unbind(-1), _roots(length, length, length, sign, pairs)
        parts = real @ c - imag @ s, real @ s + imag @ c
        return ops.stack([part * scale for part in parts], -1)
    rest = length // factor
    # With positions factor * a + b and frequencies c + rest * d: over a first, then over b.
    inner = ops.view_as_complex(_fft_last_dim(pairs.unflatten(-2, (rest, factor)).transpose(-2, -3), sign, 1.0))
    if length <= _KEPT:
        turned = inner * cached_constant(inner, _roots_of_unity, factor, rest, length, sign)
    else:
        turned = inner * ops.complex(*_roots(factor, rest, length, sign, pairs))
    outer = _fft_last_dim(ops.view_as_real(turned).transpose(-2, -3), sign, scale)
    return outer.transpose(-2, -3).flatten(-3, -2)


def _fft_dims(pairs, dims, sign, scale):
    """Along several dimensions, numbered as those of the complex tensor."""
    last = pairs.dim() - 2
    for dim in dims:
        if dim == last:
            pairs = _fft_last_dim(pairs, sign, scale)
        else:
            pairs = _fft_last_dim(pairs.transpose(dim, last), sign, scale).transpose(dim, last)
        scale = 1.0
    return pairs


def _scale_of(normalization, lengths):
    return 1.0 if normalization == 0 else prod(lengths) ** (-0.5 if normalization == 1 else -1)


def _complex(pairs):
    return ops.view_as_complex(pairs if pairs.stride(-1) == 1 else pairs.contiguous())


def complex_to_complex(x, dim, normalization, forward):
    scale = _scale_of(normalization, [x.shape[d] for d in dim])
    return _complex(_fft_dims(ops.view_as_real(x), dim, -1 if forward else 1, scale))


def real_to_complex(x, dim, normalization, onesided):
    last, scale = dim[-1], _scale_of(normalization, [x.shape[d] for d in dim])
    length = x.shape[last]
    known = length // 2 + 1 if onesided else length
    if length <= _LARGEST:
        lines = x.transpose(last, -1) @ cached_constant(x, _matrix_of_real, length, scale, known)
        pairs = lines.unflatten(-1, (known, 2)).transpose(last, x.dim() - 1)
    else:
        pairs = _fft_dims(ops.stack([x, ops.zeros_like(x)], -1), [last], -1, scale).narrow(last, 0, known)
    return _complex(_fft_dims(pairs, dim[:-1], -1, 1.0))


def complex_to_real(x, dim, normalization, length):
    """From half a spectrum, whose second half is the first one's conjugate, in reverse order."""
    last, known = dim[-1], length // 2 + 1
    scale = _scale_of(normalization, [x.shape[d] for d in dim[:-1]] + [length])
    # The other dimensions first: the conjugate would be reversed in these too.
    pairs = _fft_dims(ops.view_as_real(x).narrow(last, 0, known), dim[:-1], 1, 1.0)
    if length <= _LARGEST:
        matrix = cached_constant(pairs, _matrix_to_real, length, scale)
        return (pairs.transpose(last, x.dim() - 1).flatten(-2) @ matrix).transpose(last, -1)
    rest = pairs.narrow(last, 1, length - known).flip(last)
    real, imag = rest.unbind(-1)
    return _fft_dims(ops.cat([pairs, ops.stack([real, -imag], -1)], last), [last], 1, scale).select(-1, 0)
