"""Shapes and checks of the rows that take index tensors; rows name them as they do those of infer.pxd."""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


# shapes
cdef int index_select(Shape *shape, TensorBase self, int64_t dim, TensorBase index) except -1
cdef int indexed(Shape *shape, TensorBase self, list indices) except -1          # of self[indices]; None: the whole dim
cdef int in_line(Shape *shape, TensorBase self, TensorBase mask) except -1       # all elements of their common shape
cdef int positions(Shape *shape, TensorBase self) except -1                      # a row for every element
# Without num_classes (-1) the largest element is read, which waits for the device.
cdef int one_hot(Shape *shape, TensorBase self, int64_t num_classes) except -1

# Where the dimensions that indices make begin in the result, how many they are, and their sizes.
cdef int index_dims(Shape *shape, TensorBase self, list indices, int *place) except -1

# checks
cdef int check_gather(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_scatter(TensorBase self, int64_t dim, TensorBase index, TensorBase src) except -1      # src may be None
cdef int check_reduction(object reduce) except -1                                # of scatter
cdef int check_scatter_reduce(object reduce, ScalarType dtype, TensorBase index) except -1
cdef int check_index_select(TensorBase self, TensorBase index) except -1
cdef int check_index_add(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1
cdef int check_index_copy(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1
cdef int check_index_fill(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_filling(ScalarType dtype, const Scalar *value) except -1
cdef int check_filling_tensor(TensorBase self, TensorBase value) except -1
cdef int check_take(TensorBase self, TensorBase index) except -1
cdef int check_put(TensorBase self, TensorBase index, TensorBase source) except -1
cdef int check_index_put(TensorBase self, list indices, TensorBase values) except -1
cdef int check_selecting(TensorBase mask) except -1                              # masked_select
cdef int check_one_hot(TensorBase self, int64_t num_classes) except -1
cdef int check_masked_scatter(TensorBase self, TensorBase mask, TensorBase source) except -1
cdef int check_mask(TensorBase mask) except -1                                   # masked_fill
cdef int check_mask_value(TensorBase self, TensorBase value) except -1
