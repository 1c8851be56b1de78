"""What other formulas share with those of Bessel functions."""
from mindtorch._core.space cimport Space
from mindtorch._core.tensor cimport TensorBase

# For size >= 0 the sines of odd multiples of the angle whose cotangent is the square root of it.
cdef TensorBase sines_of(TensorBase size, TensorBase odd, Space space)
