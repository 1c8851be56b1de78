"""The kernels of the NPU: the ACLNN call of a row, or its decomposition; the NPU as a backend."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.operators.operator cimport MAX_ARGUMENTS, Argument, Kernel
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.generator cimport Generator
from mindtorch._core.tensor.tensor cimport Shape, TensorBase
from mindtorch._npu.cann cimport AclnnPhase1, aclDataType


# --- calls -----------------------------------------------------------------------------------------------------------
# The generated module `thunks` registers C functions here, which aclnn_call.pyx calls by index.


cdef union Storage:             # memory for the result of an adapter
    Shape shape
    Scalar scalar

# Calls an adapter: sets `result`, and returns an object that must live as long as the call, or None.
ctypedef object (*AdapterFunction)(Argument *values, Argument *result, Storage *storage)
ctypedef int (*ConditionFunction)(Argument *arguments) except -1

cdef int register_thunks(AclnnPhase1 *signatures, dict adapters_by_name, AdapterFunction *adapters,
                         dict conditions_by_name, ConditionFunction *conditions) except -1


# --- decompositions --------------------------------------------------------------------------------------------------
# ACLNN lacks some operators. They are Python functions over other operators (mindtorch/_npu/_gen/decompositions.py).


cdef class Decomposition:
    cdef object function
    cdef int count                                  # arguments, with the results
    cdef int results                                # at 0, the function's result is copied to `self`
    cdef unsigned char conversions[MAX_ARGUMENTS]


# --- adapters of arguments -------------------------------------------------------------------------------------------
# The npu column of a row may call an adapter: it converts an argument to the form that the ACLNN function needs.


cdef const Shape *dims_or_all(Shape *all_of_them, const Shape *dim, TensorBase self) noexcept  # an empty list: all axes
cdef aclDataType dtype_of(TensorBase tensor) noexcept
cdef const Shape *sizes_of(Shape *storage, TensorBase tensor) except NULL
cdef int div_mode(object rounding_mode) except -1                       # None 0, "trunc" 1, "floor" 2
# Optional numbers: NULL if absent.
cdef double or_zero(const double *value) noexcept
cdef double or_minus_one(const double *value) noexcept                     # aclnnLogit: no eps
cdef double or_epsilon(const double *value) noexcept                       # of float32
cdef double or_dtype_max(const double *value, TensorBase tensor) noexcept  # of a floating dtype
cdef double or_dtype_min(const double *value, TensorBase tensor) noexcept
cdef TensorBase cast(TensorBase tensor, TensorBase out)                    # `tensor` in the dtype of `out`

cdef list cast_list(list tensors, TensorBase out)
cdef list cat_list(list tensors, TensorBase out)                        # the same without empty 1-d tensors
# gradients with Adam's weight decay
cdef list add_weight_decay(list grads, list tensors, double weight_decay, bint maximize)
cdef list steps_minus_one(list state_steps)                                     # minus 1: aclnnApplyAdamWV2 adds it
cdef int scatter_reduction(object reduce) except -1                             # of scatter, by torch's name
# An index for each dimension; None becomes a tensor without elements, which means the whole dimension.
cdef list index_list(list indices, TensorBase self)
# For functions that need a dim: without one, the tensor is flattened.
cdef TensorBase flatten_without_dim(TensorBase tensor, const Shape *dim)
cdef TensorBase flatten(TensorBase tensor)                                      # all elements in one dimension
cdef TensorBase as_row_matrix(TensorBase tensor)                                # a 1-d tensor as a matrix of one row
cdef TensorBase ones_like_dtype(TensorBase like, const Shape *shape)            # in the dtype of `like`
cdef int64_t first_or_zero(const Shape *values) noexcept                        # 0 if there is none
cdef bint keepdim_or_all(bint keepdim, const Shape *dim) noexcept
cdef const Scalar *float_scalar(Scalar *storage, double value) noexcept         # a float as a scalar
# Random numbers: two arguments of one call. The second advances the generator.
cdef int64_t seed_of(Generator generator) noexcept
cdef int64_t next_offset(Generator generator) noexcept
cdef TensorBase seed_tensor(Generator generator)                        # while a graph is captured
cdef TensorBase offset_tensor(Generator generator)
cdef TensorBase expand_as(TensorBase tensor, TensorBase out)            # a view with the shape of `out`
cdef TensorBase in_batch(TensorBase matrices, TensorBase other)         # the same for all dimensions but the last two
cdef int qr_mode(object mode) except -1                                 # "reduced" 0, "complete" 1, "r" 2
cdef int64_t numel_of(TensorBase tensor) noexcept
# For unique: with counts, ACLNN writes the inverse even if the caller did not request it.
cdef TensorBase inverse_or_temporary(TensorBase inverse, TensorBase self, bint return_counts)
cdef int64_t dim_or_none(const Shape *dim) noexcept                     # of aclnnUniqueConsecutive
cdef int64_t size_at_dim(TensorBase tensor, const Shape *dim) noexcept
# For index_copy: `source` with as many dimensions as `self`, if either is 0-d.
cdef TensorBase view_as_slices(TensorBase source, TensorBase self, int64_t dim, TensorBase index)
cdef int64_t num_heads_of(TensorBase query) noexcept                    # of attention: (batch, heads, length, width)
cdef TensorBase out_or_temporary(TensorBase out, TensorBase like)       # `out`; a temporary tensor if it is None
cdef int64_t rows_of(TensorBase matrix) noexcept
cdef int64_t columns_of(TensorBase matrix) noexcept
cdef TensorBase empty_output(TensorBase tensor)                         # a tensor without elements, as unused output
cdef int64_t random_end_of(TensorBase self) noexcept                    # 1 + the last integer of those that are exact
cdef int64_t to_or_max(const Shape *to) noexcept                        # empty: the largest int64
# Reductions and searches.
cdef int64_t int_correction(const Scalar *correction) except? -1         # None: 1; NotImplementedError for fractions
cdef const Scalar *dim_scalar(Scalar *storage, int64_t dim) noexcept
cdef bint is_right_side(bint right, object side) except -1               # of searchsorted
# torch_npu's own operators.
cdef double double_of(const Scalar *value) noexcept
cdef list list_of(TensorBase tensor)                                    # [tensor]; empty if it is None
cdef int rotary_mode(object mode) except -1                             # "half" 0, "interleave" 1
cdef char *attention_layout(object layout) except NULL                  # BNSD, BSND, BSH or SBH
