"""Rules of reductions, rearrangements, indices, random numbers and lists of tensors: shapes and errors."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- sums and extremes that the host reads ---------------------------------------------------------------------------
# Numbers that the host reads from the device, and waits for: they decide the size of a result or the choice of kernels.


# The tensor must not be empty.
cdef int64_t read_sum(TensorBase x) except? -1
cdef int read_min_max(TensorBase x, int64_t *least, int64_t *most) except -1       # one copy for both


# --- reductions ------------------------------------------------------------------------------------------------------
# Shapes, dtypes and checks of the rows that reduce, accumulate, sort and search; rows name them as infer.pxd's.


# shapes
cdef int resize_dim(Shape *shape, TensorBase self, int64_t k, int64_t dim) except -1      # k elements along `dim`
# The largest possible number of distinct elements; 0 elements for a result that is not wanted.
cdef int like_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1
cdef int vector_if_wanted(Shape *shape, TensorBase self, bint wanted) except -1
cdef int dim_vector_if_wanted(Shape *shape, TensorBase self, int64_t dim, bint wanted) except -1
# Results by runs of equal elements: along a dimension, or through all elements.
cdef int unique_consecutive(Shape *shape, TensorBase self, const Shape *dim) except -1
cdef int unique_consecutive_inverse(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1
cdef int unique_consecutive_counts(Shape *shape, TensorBase self, bint wanted, const Shape *dim) except -1
# The tensor has integers; bincount reads their largest.
cdef int bincount(Shape *shape, TensorBase self, int64_t minlength) except -1
cdef int histogram(Shape *shape, int64_t bins) except -1

# dtypes
cdef ScalarType bincount_dtype(TensorBase self, TensorBase weights) except *
cdef ScalarType index_dtype(bint out_int32) except *
cdef ScalarType nansum_operand_dtype(TensorBase self, ScalarType dtype) except *      # floats must stay such to be NaN

# checks
cdef int check_variance(ScalarType dtype, str name) except -1
# Elements along a line: a 0-d tensor is its own result, whatever its dtype.
cdef int check_cumulative_not_bool(TensorBase self, ScalarType dtype, str op) except -1           # no bool
cdef int check_cumulative_not_complex(TensorBase self, str op) except -1                           # no complex numbers
cdef int check_inplace_dtype(TensorBase self, ScalarType dtype) except -1
cdef int check_out_logsumexp(TensorBase out) except -1                                     # logsumexp
cdef int check_aminmax(TensorBase self, const Shape *dim) except -1
cdef int check_isclose(TensorBase self, TensorBase other, double rtol, double atol) except -1
cdef int check_sortable(TensorBase self, int64_t dim, str name) except -1                 # no complex numbers
cdef int check_topk(TensorBase self, int64_t k, int64_t dim) except -1
cdef int check_kthvalue(TensorBase self, int64_t k, int64_t dim) except -1
cdef int check_out_values(TensorBase out, TensorBase self, str name) except -1            # median
cdef int check_out_indices(TensorBase out, str name) except -1
cdef int check_searchsorted(TensorBase sequence, TensorBase values, bint right, object side,
                            TensorBase sorter) except -1
cdef int check_out_searchsorted(TensorBase out, bint out_int32) except -1
cdef int check_bincount(TensorBase self, TensorBase weights, int64_t minlength) except -1
cdef int check_unique(ScalarType dtype) except -1
cdef int check_unique_dim(TensorBase self, int64_t dim) except -1
cdef int check_unique_consecutive(TensorBase self, const Shape *dim) except -1
cdef int check_histogram(int64_t bins, const Scalar *low, const Scalar *high) except -1
cdef int check_out_histogram(TensorBase out, TensorBase self) except -1


# --- rearrangements --------------------------------------------------------------------------------------------------
# Shapes and checks of the rows that move elements along dimensions; rows name them as they do those of infer.pxd.
#
# `dim` and `output_size` have one entry, or none where they are not given: all elements count as one line then.


# shapes
cdef int repeat_shape(Shape *shape, TensorBase self, const Shape *repeats) except -1
cdef int repeat_interleave_int(Shape *shape, TensorBase self, int64_t repeats, const Shape *dim,
                               const Shape *output_size) except -1
# The length is read from `repeats`, which waits for the device, unless output_size tells it.
cdef int repeat_interleave(Shape *shape, TensorBase self, TensorBase repeats, const Shape *dim,
                           const Shape *output_size) except -1
cdef int repeat_interleave_indices(Shape *shape, TensorBase repeats, const Shape *output_size) except -1

# checks
cdef int check_flip(TensorBase self, const Shape *dims) except -1
cdef int check_roll(TensorBase self, const Shape *shifts, const Shape *dims) except -1
cdef int check_repeat_interleave(TensorBase self, TensorBase repeats, const Shape *dim) except -1
cdef int check_repeat_vector(TensorBase repeats) except -1
cdef int check_channel_shuffle(TensorBase self, int64_t groups) except -1
cdef int check_triangular(TensorBase self, str op) except -1
cdef int check_trace(TensorBase self) except -1


# --- indices ---------------------------------------------------------------------------------------------------------
# Shapes and checks of the rows that take index tensors; rows name them as they do those of infer.pxd.


# shapes
cdef int index_select(Shape *shape, TensorBase self, int64_t dim, TensorBase index) except -1
cdef int index_shape(Shape *shape, TensorBase self, list indices) except -1  # of self[indices]; None: the whole dim
cdef int broadcast_numel(Shape *shape, TensorBase self, TensorBase mask) except -1  # all elements of their common shape
cdef int nonzero_shape(Shape *shape, TensorBase self) except -1                      # a row for every element
# Without num_classes (-1) the largest element is read, which waits for the device.
cdef int one_hot(Shape *shape, TensorBase self, int64_t num_classes) except -1

# Where the dimensions that indices make begin in the result, how many they are, and their sizes.
cdef int index_dims(Shape *shape, TensorBase self, list indices, int *place) except -1

# checks
cdef int check_gather(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_scatter(TensorBase self, int64_t dim, TensorBase index, TensorBase src) except -1      # src may be None
cdef int check_no_overlap_with(TensorBase written, list operands) except -1         # of the out= of cat and stack
cdef int check_scatter_mode(object reduce) except -1                                # of scatter
cdef int check_scatter_reduce(object reduce, ScalarType dtype, TensorBase index) except -1
cdef int check_index_select(TensorBase self, TensorBase index) except -1
cdef int check_index_add(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1
cdef int check_index_copy(TensorBase self, int64_t dim, TensorBase index, TensorBase source) except -1
cdef int check_index_fill(TensorBase self, int64_t dim, TensorBase index) except -1
cdef int check_index_fill_value(ScalarType dtype, const Scalar *value) except -1
cdef int check_index_fill_tensor(TensorBase self, TensorBase value) except -1
cdef int check_take(TensorBase self, TensorBase index) except -1
cdef int check_put(TensorBase self, TensorBase index, TensorBase source) except -1
cdef int check_index_put(TensorBase self, list indices, TensorBase values) except -1
cdef int check_masked_select(ScalarType dtype) except -1                              # masked_select
cdef int check_one_hot(TensorBase self, int64_t num_classes) except -1
cdef int check_masked_scatter(TensorBase self, TensorBase mask, TensorBase source) except -1
cdef int check_masked_fill(ScalarType dtype) except -1                                   # masked_fill
cdef int check_masked_fill_value(TensorBase self, TensorBase value) except -1


# --- random numbers --------------------------------------------------------------------------------------------------
# Checks and shapes of the random ops, named by rows as those of dispatch.pxd are. A check raises torch's error.


cdef int check_uniform(TensorBase self, double low, double high) except -1
cdef int check_normal(TensorBase self, double std) except -1
cdef int check_bernoulli(TensorBase self, double p) except -1            # bernoulli_
cdef int check_bernoulli_dtype(ScalarType dtype) except -1
cdef int check_bernoulli_tensor(TensorBase self, TensorBase p) except -1      # bernoulli_ with a tensor
cdef int check_random(TensorBase self, int64_t low, const Shape *high) except -1     # no `high`: the dtype's largest
cdef int check_random_full_range(TensorBase self) except -1
cdef int check_exponential(TensorBase self, double rate) except -1
cdef int check_geometric(TensorBase self, double p) except -1
cdef int check_cauchy(TensorBase self, double sigma) except -1
cdef int check_log_normal(TensorBase self, double std) except -1
cdef int check_multinomial(TensorBase self, int64_t count, bint replacement) except -1
cdef int check_poisson(ScalarType dtype) except -1                             # poisson
cdef int check_binomial(TensorBase count, TensorBase prob) except -1
cdef int check_rrelu(TensorBase self, const Scalar *lower, const Scalar *upper) except -1
cdef int check_dropout(TensorBase input, double p) except -1

cdef int dropout_mask(Shape *shape, TensorBase input) except -1             # bytes of eight elements each
cdef int multinomial(Shape *shape, TensorBase self, int64_t count) except -1


# --- lists of tensors ------------------------------------------------------------------------------------------------
# Operators on lists of tensors: whether one kernel may take all of a list, and what else their functions share.
#
# The names are those of op rows: together = ["may_norm(ord)"].


# Lengths, with torch's RuntimeErrors.
cdef Py_ssize_t checked_length(list tensors) except -1
cdef int check_same_length(list tensors, list others) except -1
cdef int check_scalar_count(list tensors, tuple numbers) except -1

# Whether a kernel may take the list at once: one dtype (a bit of `dtypes`), one device, contiguous, nothing recorded.
cdef bint is_fast_route_list(list tensors, unsigned int dtypes) noexcept
# others: as `tensors`, which are alike; shapes too
cdef bint matches_fast_route_list(list tensors, list others) noexcept

cdef list empty_like_list(list tensors)                              # new tensors like these, which are alike
cdef int bump_versions(list tensors) except -1
# in place of an in-place form that an op lacks
cdef int write_inplace_result(TensorBase self, TensorBase result) except -1
cdef int highest_kind_scalar(tuple numbers, Scalar *number) except -1     # the one that decides about dtypes
cdef bint all_equal(tuple numbers) except -1                   # all the same, in type as well
cdef tuple unpack_scalars(TensorBase scalars, list tensors)  # the elements of a 1-d CPU tensor, one for each tensor
cdef double single_double(TensorBase tensor) except? -1.0      # of a tensor where an operator takes a number
cpdef TensorBase common_base(list tensors)  # a 1-d tensor that has them as elements, in order, or None

# Checks of the fused optimizers, which write to several lists.
cdef int check_not_empty_list(list tensors, str op) except -1  # NotImplementedError for an empty list
# The lists have equally many tensors, pairwise on one device, of one dtype and shape.
cdef int check_matching_list(list tensors, list others, str name) except -1
cdef int check_matching_list_if(bint wanted, list tensors, list others, str name) except -1  # else `others` is empty
cdef int check_momentum(double momentum, list tensors, list others, str name) except -1
cdef int check_list_length(list tensors, list others, str name) except -1
cdef int check_all_float(list tensors, str op) except -1

# Checks of GradScaler: RuntimeError unless the tensor has one element of that dtype, or is on the tensors' device.
cdef int check_one_float(TensorBase tensor, str name) except -1
cdef int check_one_int(TensorBase tensor, str name) except -1
cdef int check_on_device(list tensors, TensorBase other) except -1

cdef int check_scalar_tensor(TensorBase other) except -1
cdef int check_no_empty_tensor(list tensors) except -1
# Whether one number on the device may be an operand beside each of the tensors.
cdef bint may_use_device_scalar(list tensors, TensorBase other) noexcept
cdef bint may_norm(const Scalar *ord) noexcept               # aclnnForeachNorm knows the first and the second norm
# Divides the gradients by the scale. False, after a look at the device: some are not finite, nothing is to be done.
cdef bint may_step(list grads, TensorBase grad_scale, TensorBase found_inf) except -1
