"""What other formulas share with those of Bessel functions."""
from mindtorch._core.space cimport Space
from mindtorch._core.tensor cimport TensorBase

# The sines of odd multiples of the angle whose cotangent is the square root of |x|; `angle` is memory for the angle.
cdef TensorBase sines_of(TensorBase x, TensorBase odd, Space space, TensorBase angle)
