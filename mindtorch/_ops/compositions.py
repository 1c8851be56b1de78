"""Formulas of ops that ACLNN lacks, by operators that it has: what the npu column of a row calls after "formula:".

Arguments come in the dtype that the row computes in, float16 and bfloat16 in float32; results are cast and written by
the caller, which also keeps them out of the graph. Equations are those of dlmf.nist.gov.
"""
from math import copysign, inf, log1p, pi

from mindtorch._ops.derivatives import ops


def full(like, value):
    """0-d, for the places of `where` that a number's dtype would not suit."""
    return like.new_full((), value)


def conjugate(self):
    return ops.complex(ops.real(self), -ops.imag(self)) if self.is_complex() else self


def unscaled(gradient, found_inf, inv_scale):
    """The gradient times inv_scale; found_inf becomes 1 where something in it is no finite number."""
    found_inf.copy_(ops.where(ops.isfinite(gradient).all(), found_inf, ops.ones_like(found_inf)))
    return gradient * inv_scale


# --- two operands ----------------------------------------------------------------------------------------------------

def least_multiple(self, other):
    """|a| / gcd(a, b) |b|; 0 where either is."""
    divisor = ops.gcd(self, other)
    return (ops.div(self, ops.where(divisor == 0, divisor + 1, divisor), rounding_mode="trunc") * other).abs()


def with_sign(self, other):
    """|self| with the sign of `other`, a tensor or a number."""
    size = self.abs()
    if isinstance(other, (bool, int, float)):
        return -size if copysign(1.0, other) < 0 else size
    return ops.where(ops.signbit(other), -size, size)


def hypotenuse(self, other):
    """Scaled by the larger of the two, whose square may overflow."""
    a, b = self.abs(), other.abs()
    high, low = ops.maximum(a, b), ops.minimum(a, b)
    ratio = low / ops.where(high == 0, full(high, 1), high)
    root = high * (1 + ratio * ratio).sqrt()
    return ops.where(ops.logical_or(a == inf, b == inf), full(root, inf), root)


def one_that_is_no_nan(self, other, chosen):
    """`chosen` where both are numbers."""
    return ops.where(self.isnan(), other, ops.where(other.isnan(), self, chosen))


def mantissa_and_exponent(self):
    """self = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; 0, infinities and NaN have the exponent 0."""
    plain = ops.logical_and(self != 0, ops.isfinite(self))
    size = ops.where(plain, self, full(self, 0.5))
    exponent = size.abs().log2().floor() + 1
    half = (exponent / 2).floor()
    size = size / half.exp2() / (exponent - half).exp2()       # 2^exponent itself may be no finite number
    for too_large, step in ((size.abs() >= 1, 1), (size.abs() < 0.5, -1)):
        size = ops.where(too_large, size * 0.5 ** step, size)
        exponent = ops.where(too_large, exponent + step, exponent)
    return ops.where(plain, size, self), ops.where(plain, exponent, full(exponent, 0))


# --- random numbers, from even ones ----------------------------------------------------------------------------------

def geometric(self, p, generator):
    """How many trials the first success takes, if one succeeds with probability p."""
    even = ops.empty_like(self if self.is_floating_point() else self.float()).uniform_(generator=generator)
    return ((-even).log1p() / log1p(-p)).ceil().clamp(min=1)


def cauchy(self, median, sigma, generator):
    even = ops.empty_like(self).uniform_(generator=generator)
    return ((even - 0.5) * pi).tan() * sigma + median


# --- along a dimension -----------------------------------------------------------------------------------------------

def log_sums(self, dim):
    """log of the running sum of exponentials: sums over 1, 2, 4 ... neighbours, none of which overflows."""
    if self.dim() == 0:
        return self.clone()
    reach, size = 1, self.shape[dim]
    while reach < size:
        later, sooner = self.narrow(dim, reach, size - reach), self.narrow(dim, 0, size - reach)
        self = ops.cat([self.narrow(dim, 0, reach), ops.logaddexp(later, sooner)], dim)
        reach *= 2
    return self


def most_frequent(self, dim, keepdim):
    """The smallest of the most frequent elements of each line, and the place of the last one."""
    if self.dim() == 0:
        return self, (self != self).long()
    values, places = self.sort(dim, stable=True)
    size = self.shape[dim]
    differs = values.narrow(dim, 1, size - 1) != values.narrow(dim, 0, size - 1)
    run = ops.cat([places.narrow(dim, 0, 1) * 0, differs.long().cumsum(dim)], dim)
    counts = ops.zeros_like(run).scatter_add(dim, run, ops.ones_like(run))
    best = counts.argmax(dim, True)
    last = ops.where(run == best, ops.ones_like(run), ops.zeros_like(run)).cumsum(dim).argmax(dim, True)
    results = values.gather(dim, last), places.gather(dim, last)
    return results if keepdim else [one.squeeze(dim) for one in results]
