"""What tensors tell of themselves."""
from mindtorch._core.tensor.tensor cimport TensorBase


# Whether the elements lie one after the other when `dims` is the order from the fastest dimension on; of a tensor
# without elements, its strides are looked at all the same.
cdef bint is_contiguous_in_order(TensorBase self, tuple dims) except -1
