"""torch.tensor's reading of Python data."""
from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport TensorBase


# A new CPU tensor from numbers, nested sequences of them, or arrays; dtype Undefined: inferred as torch does.
cdef TensorBase from_data(object data, ScalarType dtype)
