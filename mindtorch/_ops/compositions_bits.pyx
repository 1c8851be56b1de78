"""Formulas on the bits of floating point numbers. See compositions.py."""
from math import copysign

from mindtorch._core._gen cimport direct as run
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport integers, space_for, spread
from mindtorch._core.tensor cimport TensorBase

# Of float32 and of float64: the sign's bit, those of the exponent, what counts as 1 there, and 1 / 2.
cdef tuple SIGN = (-2 ** 31, -2 ** 63), EXPONENT = (0xff << 23, 0x7ff << 52), UNIT = (1 << 23, 1 << 52)
cdef tuple HALF = (126 << 23, 1022 << 52)


def with_sign(TensorBase self, object other, TensorBase out):
    """|self| with the sign of `other`, a tensor or a number: the highest bit of one, the others of the other."""
    if isinstance(other, TensorBase):
        return with_signs(self, other, out)
    run.abs(self, out)
    return run.neg(out, out) if copysign(1.0, other) < 0 else out


cdef TensorBase with_signs(TensorBase self, TensorBase other, TensorBase out):
    cdef int wide = 1 if out.dtype == Double else 0
    self, other = spread(self, out), spread(other, out)
    signs, whole = integers(space_for(out, 1).room()), integers(out)
    run.bitwise_and_Scalar(integers(other), SIGN[wide], signs)
    run.abs(self, out)
    run.bitwise_or_Tensor(whole, signs, whole)
    return out


def mantissa_and_exponent(TensorBase self, TensorBase mantissa, TensorBase exponent):
    """self = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; 0, infinities and NaN have the exponent 0."""
    cdef int wide = 1 if self.dtype == Double else 0
    space = space_for(self, 4)
    lift = run.abs(self, space.room())
    run.rsub_Scalar(run.lt_Scalar(lift, 1, lift), 1, -2.0 ** 64, lift)      # 2^64 for all that may lack a leading 1
    bits = integers(run.mul_Tensor(self, lift, mantissa))
    powers = run.bitwise_and_Scalar(bits, EXPONENT[wide], integers(space.room()))
    power = run.sub_Tensor(powers, integers(lift), 1, integers(space.room()) if wide else exponent)
    run.add_Scalar(run.div_Scalar_mode(power, UNIT[wide], "floor", power), 1, 1, power)
    special = run.eq_Scalar(run.remainder_Scalar(powers, EXPONENT[wide], powers), 0, space.truth())
    run.masked_fill_Scalar(power, special, 0, power)
    run.bitwise_or_Scalar(run.bitwise_and_Scalar(bits, ~EXPONENT[wide], bits), HALF[wide], bits)
    run.where_self(special, self, mantissa, mantissa)
    return mantissa, power
