"""Indexing: `a[1]`, `a[1:, ..., None]`, `a[mask]`, `a[0] = b`."""
from mindtorch._core.tensor.tensor cimport TensorBase


# --- with tensors, masks and lists -----------------------------------------------------------------------------------
# Indexing with tensors, masks and lists; basic indexing is in indexing.pyx.


# What an index with tensors consists of: a basic index, which makes a view, and for each dimension of that view an
# index tensor or None. Every part of `parts` is taken.
cdef tuple split_index(TensorBase self, tuple parts, list indices)
cdef bint is_row_index(TensorBase index) noexcept         # whether it consists of this tensor of integers alone

cdef object index_view(TensorBase view, list indices)
cdef int index_put_view(TensorBase view, list indices, object value) except -1
