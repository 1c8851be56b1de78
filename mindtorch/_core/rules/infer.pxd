"""What an op's result looks like before it is computed: devices, dtypes, shapes, outputs. Device-neutral.

Rows name some of these functions as rules (docs/rules.md says what they do): shape = "broadcast(self, other)".
Every function raises torch's error (type and wording) when the rule cannot be met.
"""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType, Undefined
from mindtorch._core.tensor.tensor cimport Shape, Storage, TensorBase, device


# The device of the result. 0-d CPU tensors go with tensors of any device, as in torch.
cdef int raise_device_mismatch(device a, device b) except -1          # always raises RuntimeError
cdef int common_device(TensorBase a, TensorBase b) except -1          # DeviceType; RuntimeError when they differ

cdef int common_device_index(TensorBase a, TensorBase b) noexcept nogil      # the device index that goes with it
cdef int common_device_list(list tensors, int *index) except -1       # device type and index of any number of tensors

# dtypes
cdef ScalarType promote(TensorBase a, TensorBase b) except? Undefined nogil
cdef ScalarType promote_scalar(TensorBase a, const Scalar *b) except? Undefined nogil
cdef ScalarType scalar_dtype(const Scalar *number) noexcept nogil                            # of a number alone
cdef ScalarType promote_list(list tensors) except *
cdef ScalarType int_to_float(ScalarType dtype) noexcept nogil
cdef ScalarType sum_dtype(ScalarType dtype) noexcept nogil

# shapes
cdef int broadcast(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int broadcast3(Shape *shape, TensorBase a, TensorBase b, TensorBase c) except -1
cdef int same_shape(Shape *shape, TensorBase a) except -1
cdef int like(Shape *shape, TensorBase a) except -1
cdef int like_or_empty(Shape *shape, TensorBase tensor) except -1
cdef int vector_of_size(Shape *shape, int64_t size) except -1
cdef int matrix_of_sizes(Shape *shape, int64_t rows, int64_t columns) except -1
cdef int reduce_dims(Shape *shape, TensorBase a, const Shape *dims, bint keepdim) except -1
cdef int matmul(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int mm(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int bmm(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int cat(Shape *shape, list tensors, int64_t dim) except -1
cdef int stack(Shape *shape, list tensors, int64_t dim) except -1
cdef int stack_strides(Shape *strides, list tensors, int64_t dim) except -1
cdef int convolution_strides(Shape *strides, TensorBase input, TensorBase weight) except -1
cdef int roll_strides(Shape *strides, TensorBase self, const Shape *dims) except -1
cdef int angle_strides(Shape *strides, TensorBase self) except -1
cdef void operand_order_strides(const Shape *shape, TensorBase a, TensorBase b, TensorBase c,
                                int64_t *strides) noexcept
cdef int64_t wrap_dim(int64_t dim, int ndim) except? -1                # IndexError as torch; 0-d counts as one dim
cdef int wrap_dims(Shape *dims, int ndim) except -1                    # in place; duplicates: RuntimeError

cdef int broadcast_shapes(Shape *shape, const Shape *other) except -1  # shape: broadcast with `other`, in place

# outputs
# `out` after torch's checks of out=, or a new tensor where it is None. Where `out` has another dtype or shape, a
# temporary; write_back resizes `out` and copies the temporary to it.
cdef bint is_same_memory(TensorBase a, TensorBase b)
cdef bint is_channels_last(TensorBase tensor) noexcept
cdef int check_output(TensorBase out, ScalarType dtype, int device_type, int device_index) except -1
cdef TensorBase output_or_temporary(TensorBase out, const Shape *shape, ScalarType dtype, int device_type,
                                    int device_index)
# The output of an elementwise op (rules same and broadcast): a new one keeps the operands' order of dimensions, so that
# the sum of two transposed tensors is a transposed tensor, as in torch. b and c may be None. `no_cast`: which of them
# are not cast to `dtype` first, as bits.
cdef TensorBase elementwise_output(TensorBase out, const Shape *shape, ScalarType dtype, int device_type,
                                   int device_index, TensorBase a, TensorBase b, TensorBase c, unsigned int no_cast)
# The output of other operators: a new one is channels_last where `a` or `b` is, as torch's suggest_memory_format says.
cdef TensorBase channels_last_output(TensorBase out, const Shape *shape, ScalarType dtype, int device_type,
                                     int device_index, TensorBase a, TensorBase b)
# A result whose kernel has made it smaller than it was allocated, in memory of its own size; `out`: out= of the call.
cdef TensorBase shrink_to_fit(TensorBase result, TensorBase out)
cdef TensorBase write_back(TensorBase result, TensorBase out)          # returns `out` when it was given, else result
# Gives `self` another shape, contiguous; the storage grows, keeping its elements, when it is too small.
cdef int resize(TensorBase self, const Shape *shape) except -1
# Another size of a storage, which all tensors on it see. RuntimeError where its memory is not ours.
cdef int resize_storage(Storage storage, int64_t nbytes) except -1
cdef int check_cast(ScalarType result, ScalarType target) except -1
cdef int check_no_internal_overlap(TensorBase written) except -1
cdef int check_no_overlap(TensorBase written, TensorBase operand) except -1
cdef int check_no_overlap_of_added(TensorBase written, TensorBase added) except -1
cdef int check_no_partial_overlap(TensorBase written, TensorBase operand) except -1
# For operators that read an operand while they write: `result`, or a temporary where the two may share memory.
cdef TensorBase result_or_temporary(TensorBase result, TensorBase operand)
# In-place: the shape must be self's, the dtype castable to self's. `self` must not overlap itself, as expanded tensors
# do.
cdef TensorBase inplace_output(TensorBase self, const Shape *shape, ScalarType dtype)
