"""Shapes, dtypes and checks of the rows that reduce, accumulate, sort and search; rows name them as infer.pxd's."""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


# shapes
cdef int selected(Shape *shape, TensorBase self, int64_t k, int64_t dim) except -1      # k elements along `dim`
# Of distinct elements, as many as there may be; without elements where nobody asks for them.
cdef int like_if(Shape *shape, TensorBase self, bint wanted) except -1
cdef int line_if(Shape *shape, TensorBase self, bint wanted) except -1
cdef int slices_if(Shape *shape, TensorBase self, int64_t dim, bint wanted) except -1
# Of runs: along a dimension, or through all elements.
cdef int runs(Shape *shape, TensorBase self, const Shape *dim) except -1
cdef int runs_inverse(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1
cdef int runs_counts(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1
# Of whole numbers: reads the extremes.
cdef int counts_of(Shape *shape, TensorBase self, int64_t minlength) except -1
cdef int bins_shape(Shape *shape, int64_t bins) except -1

# dtypes
cdef ScalarType count_dtype(TensorBase self, TensorBase weights) except *
cdef ScalarType index_dtype(bint out_int32) except *
cdef ScalarType nansum_operand(TensorBase self, ScalarType dtype) except *      # floats must stay such to be NaN

# checks
cdef int check_variance(TensorBase self, str name) except -1
# Elements along a line: a 0-d tensor is its own result, whatever its dtype.
cdef int check_accumulated(TensorBase self, ScalarType dtype, str op) except -1           # no bool
cdef int check_ordered_lines(TensorBase self, str op) except -1                           # no complex numbers
cdef int check_inplace_dtype(TensorBase self, ScalarType dtype) except -1
cdef int check_floating_kernel(ScalarType dtype, str op) except -1
cdef int check_out_floating(TensorBase out) except -1                                     # logsumexp
cdef int check_aminmax(TensorBase self, const Shape *dim) except -1
cdef int check_isclose(TensorBase self, TensorBase other, double rtol, double atol) except -1
cdef int check_sortable(TensorBase self, int64_t dim, str name) except -1                 # no complex numbers
cdef int check_topk(TensorBase self, int64_t k, int64_t dim) except -1
cdef int check_kth(TensorBase self, int64_t k, int64_t dim) except -1
cdef int check_out_values(TensorBase out, TensorBase self, str name) except -1            # median
cdef int check_out_indices(TensorBase out, str name) except -1
cdef int check_searched(TensorBase sequence, TensorBase values, bint right, object side, TensorBase sorter) except -1
cdef int check_out_search(TensorBase out, bint out_int32) except -1
cdef int check_bincount(TensorBase self, TensorBase weights, int64_t minlength) except -1
cdef int check_unique(TensorBase self) except -1
cdef int check_unique_dim(TensorBase self, int64_t dim) except -1
cdef int check_runs(TensorBase self, const Shape *dim) except -1
cdef int check_histogram(int64_t bins, const Scalar *low, const Scalar *high) except -1
cdef int check_out_histogram(TensorBase out, TensorBase self) except -1
