"""Formulas of ops that ACLNN lacks, by operators that it has: what the npu column of a row calls after "formula:".

Arguments come in the dtype that the row computes in, float16 and bfloat16 in float32; results are cast and written by
the caller, which also keeps them out of the graph. `out` is memory of the result's shape, free to be written before
the end; an operator that writes to memory that is there costs the host less than half of one that makes a tensor, and a
kernel that is run by itself (`run`) less again. Equations are those of dlmf.nist.gov.
"""
from math import inf, log1p, pi

from mindtorch._core._gen import direct as run
from mindtorch._core.dtype import float32, float64
from mindtorch._core.scratch import room_for_truth, room_in
from mindtorch._ops.derivatives import ops


def full(like, value):
    """0-d, for the places of `where` that a number's dtype would not suit."""
    return like.new_full((), value)


def put(target, mask, value):
    """`value` where `mask` holds, in place; aclnnInplaceMaskedFillScalar takes no float64."""
    if target.dtype is float64:
        return run.where_self(mask, full(target, value), target, target)
    return run.masked_fill_Scalar(target, mask, value, target)


def conjugate(self):
    return ops.complex(ops.real(self), -ops.imag(self)) if self.is_complex() else self


def unscaled(self, found_inf, inv_scale):
    """The gradient times inv_scale; found_inf becomes 1 where something in it is no finite number."""
    if self.dtype is float64:       # which the operator on lists does not take
        found_inf.copy_(ops.where(ops.isfinite(self).all(), found_inf, ops.ones_like(found_inf)))
        return self.mul_(inv_scale)
    gradient = self.contiguous()
    ops._amp_foreach_non_finite_check_and_unscale_([gradient], found_inf, inv_scale)
    return gradient


def filled_slices(self, dim, index, value, out):
    """`value`, a tensor, in the slices of `dim` that index names."""
    out.copy_(self)
    if index.numel():       # without elements it would stand for all slices
        target = out if out.ndim else out.view(1)
        run.index_put(target, [None] * dim + [index], value, False, target)
    return out


# --- two operands ----------------------------------------------------------------------------------------------------

def least_multiple(self, other, out):
    """|a| / gcd(a, b) |b|; 0 where either is."""
    run.clamp(run.gcd(self, other, out), 1, None, out)
    run.div_Tensor_mode(self, out, "trunc", out)
    return run.abs(run.mul_Tensor(out, other, out), out)


def hypotenuse(self, other, out):
    """The modulus of a complex number. For float64, which has none, scaled by the larger, whose square may overflow."""
    if self.dtype is not float64:
        return run.abs(ops.complex(self, other), out)
    a, b = self.abs(), other.abs()
    high = ops.maximum(a, b)
    ratio = ops.minimum(a, b).div_(put(high.clone(), high == 0, 1))
    ops.mul(ratio.square_().add_(1).sqrt_(), high, out=out)
    return put(out, ops.logical_or(a == inf, b == inf), inf)


def _one_that_is_no_nan(self, other, comes_first, last, out):
    """`self` where it comes first, or where `other` is no number: as one that comes last it is beyond `self`."""
    if other.dtype is float64:      # which aclnnNanToNum does not take
        chosen = comes_first(self, other, room_for_truth(out))
        run.logical_or(chosen, run.ne_Tensor(other, other, room_for_truth(other)), chosen)
    else:
        number = run.nan_to_num(other, last, inf, -inf, room_in(out, other))
        chosen = comes_first(self, number, room_for_truth(out))
    return run.where_self(chosen, self, other, out)


def larger_number(self, other, out):
    if out.is_floating_point():
        return _one_that_is_no_nan(self, other, run.ge_Tensor, -inf, out)
    return run.maximum(self, other, out)


def smaller_number(self, other, out):
    if out.is_floating_point():
        return _one_that_is_no_nan(self, other, run.le_Tensor, inf, out)
    return run.minimum(self, other, out)


def close_by_distance(self, other, rtol, atol, equal_nan):
    """isclose of dtypes that aclnnIsClose lacks: complex numbers."""
    close = ops.eq(self, other)
    if equal_nan:
        close = close | (self.isnan() & other.isnan())
    distance = (self - other).abs()
    return close | (ops.isfinite(distance) & (distance <= other.abs() * rtol + atol))


def identity(self):
    """Ones on the diagonal of zeros, in place."""
    self.zero_().diagonal().fill_(1)
    return self


def unpooled(self, indices, output_size):
    """Zeros, with each element at its flat index in the last dimensions."""
    dims, count = len(output_size), 1
    for size in output_size:
        count *= size
    lead = self.shape[:-dims]
    flat = self.new_zeros((*lead, count)).scatter(-1, indices.flatten(-dims), self.flatten(-dims))
    return flat.reshape(*lead, *output_size)


# --- random numbers, from even ones ----------------------------------------------------------------------------------

_LEAST = 2.0 ** -26         # less than half the distance of even float32 numbers, which stay below 1 with this added


def geometric(self, p, generator):
    """How many trials the first success takes, if one succeeds with probability p."""
    even = self if self.is_floating_point() else ops.empty_like(self, dtype=float32)
    even.uniform_(_LEAST, 1, generator=generator)
    return run.ceil(run.div_Scalar(run.log(even, even), log1p(-p), even), even)


def cauchy(self, median, sigma, generator):
    return self.uniform_(-pi / 2, pi / 2, generator=generator).tan_().mul_(sigma).add_(median)


def _even_as(self, generator):
    """Numbers evenly from [0, 1), of as many digits as random operators of any dtype compare with."""
    return ops.empty(self.shape, dtype=float64, device=self.device).uniform_(generator=generator)


def bernoulli_numbers(self, p, generator):
    return _even_as(self, generator) < p


def exponential_numbers(self, lambd, generator):
    return (-_even_as(self, generator)).log1p() / -lambd


def rrelu_numbers(self, noise, lower, upper, generator):
    return self * noise.uniform_(lower, upper, generator=generator).masked_fill_(ops.logical_not(self <= 0), 1)
