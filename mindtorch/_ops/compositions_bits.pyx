"""Formulas on the bits of floating point numbers. See compositions.py."""
from math import copysign

from mindtorch._core._gen cimport direct as run
from mindtorch._core.scalar cimport Double
from mindtorch._core.space cimport integers, space_for, spread
from mindtorch._core.tensor cimport TensorBase

# Of float32 and of float64: the sign's bit, those of the exponent, what counts as 1 there.
cdef tuple SIGN = (-2 ** 31, -2 ** 63), EXPONENT = (0xff << 23, 0x7ff << 52), UNIT = (1 << 23, 1 << 52)
# The exponent's bit that numbers from 2 on have; 2^64, a small power of 2 without that bit; what less the exponent of a
# number is the exponent of the factor that brings it below 1.
cdef tuple TWO = (1 << 30, 1 << 62), LIFT = (191 << 23, 1087 << 52), BELOW_1 = (253 << 23, 2045 << 52)


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
    space = space_for(self, 3)
    lift, scale = space.room(), space.room()        # powers of 2, which are also read as integers
    lifted, powers, some = integers(lift), integers(scale), integers(space.room())
    run.bitwise_and_Scalar(integers(self), TWO[wide], lifted)
    run.rsub_Scalar(lifted, LIFT[wide], 1, lifted)          # 2^64 below 2, where a leading 1 may be missing
    run.mul_Tensor(self, lift, mantissa)
    run.bitwise_and_Scalar(integers(mantissa), EXPONENT[wide], powers)
    run.remainder_Scalar(powers, EXPONENT[wide], powers)    # 0 of all that has the exponent 0
    run.div_Scalar_mode(run.sub_Tensor(powers, lifted, 1, lifted), UNIT[wide], "floor", lifted)
    run.sign(powers, some)
    power = run.addcmul(some, some, lifted, 1, lifted if wide else exponent)
    run.rsub_Scalar(powers, BELOW_1[wide], 1, powers)
    return run.mul_Tensor(mantissa, scale, mantissa), power
