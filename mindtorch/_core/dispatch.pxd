"""What the generated functions share: places, checks of arguments, outputs, errors. Device-neutral.

`check_*` and the rules here are named by op rows, as those of infer.pxd are.
"""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarKind, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


cdef Scalar ONE
cdef Shape NO_DIMS

# Device of an op's result. A 0-d CPU tensor joins any other device.
cdef struct Place:
    int type               # DeviceType
    int index
    bint loose             # only 0-d CPU tensors were seen so far

cdef inline int place_of(Place *place, TensorBase tensor) except -1:
    place.type = tensor.device_type
    place.index = tensor.device_index
    place.loose = tensor.ndim == 0 and tensor.device_type == 0
    return 0

cdef inline int join(Place *place, TensorBase tensor) except -1:
    if tensor is not None and (tensor.device_type != place.type or tensor.device_index != place.index):
        join_slowly(place, tensor)
    return 0

cdef int join_slowly(Place *place, TensorBase tensor) except -1      # RuntimeError where the devices differ
cdef int place_of_list(Place *place, list tensors) except -1

# What an op with out= returns: `out`, written back where a temporary stood in for it, its version counted.
cdef TensorBase finish(TensorBase result, TensorBase out)

# The output of an operator that writes over what is there: it holds `elements`, broadcast, before the kernel runs.
cdef int begin(TensorBase result, TensorBase elements) except -1

# The elements of an expanded tensor, each once: where all get the same value, that is the same.
cdef TensorBase distinct(TensorBase tensor)

# Arguments beside arguments.pxd's.
cdef const Scalar *optional_scalar(object value, Scalar *scalar, const char *function, const char *argument,
                                   int position) except? NULL                    # None: NULL
# out=(values, indices), or Nones; `position` of the parameter, from 0
cdef tuple several_outs(object out, int count, const char *function, int position)
cdef object named(type kind, tuple results)              # as a class of return_types, of as many members
# A number as a 0-d tensor on the device of `like`, typed as torch's wrapped numbers are beside that tensor.
cdef TensorBase number_like(const Scalar *number, TensorBase like)               # RuntimeError where it does not fit
cdef TensorBase number_to_read(const Scalar *number, TensorBase like)            # the same, on the host
cdef TensorBase wrapped_number(const Scalar *number, TensorBase beside)          # as an operand: integers wrap around
cdef object as_operand(object value, object beside)      # a number as a tensor beside the other operand; else `value`
cdef TensorBase number_beside(const Scalar *number, TensorBase like)             # typed as torch.full would

# Shape rules beside infer.pxd's.
cdef int dot(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int mv(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int addmm(Shape *shape, TensorBase self, TensorBase mat1, TensorBase mat2) except -1
cdef int reduce_dim(Shape *shape, TensorBase a, int64_t dim, bint keepdim) except -1
cdef int broadcast_optional(Shape *shape, TensorBase a, TensorBase b, TensorBase c) except -1    # b, c may be None
cdef int scalar_shape(Shape *shape) except -1
cdef int embedding(Shape *shape, TensorBase weight, TensorBase indices) except -1
cdef int embedding_table(Shape *shape, TensorBase grad_output, int64_t num_weights) except -1

# Dtype rules beside infer.pxd's.
cdef ScalarType promote_optional(TensorBase a, TensorBase b, TensorBase c) except *
cdef ScalarType promote_bounds(TensorBase a, const Scalar *low, const Scalar *high) except *      # NULL: no bound
cdef ScalarType number_dtype(const Scalar *a) except *          # what torch.full infers
cdef ScalarType real_dtype(ScalarType dtype) except *           # complex64 -> float32; others unchanged
cdef ScalarType complex_dtype(ScalarType dtype) except *        # float32 -> complex64
cdef ScalarType square_dtype(ScalarType dtype) except *         # bool counts: int64
cdef ScalarType truth_dtype(ScalarType dtype) except *          # all and any: bool, but uint8 stays
cdef ScalarType opmath(ScalarType dtype) noexcept               # floats of fewer bits compute in float32

cdef str c_name(ScalarType dtype)                               # the C++ type, as some messages have it

# Checks: each raises torch's error or returns 0.
cdef int check_alpha(ScalarType result_dtype, const Scalar *alpha) except -1
cdef int check_subtract(TensorBase self, TensorBase other) except -1
cdef int check_subtract_scalar(TensorBase self, const Scalar *other) except -1
cdef int check_negative(TensorBase self) except -1
cdef int check_floating(TensorBase self, ScalarType result_dtype) except -1      # mean
cdef int check_relu(TensorBase self) except -1
cdef int check_arithmetic(ScalarType dtype, str op) except -1                    # no bool
cdef int check_ordered(ScalarType dtype, str op) except -1                        # no complex
cdef int check_reducible(TensorBase self, const Shape *dim, str op) except -1    # empty input without a dim
cdef int check_reduced_dim(TensorBase self, int64_t dim, str op) except -1
cdef int check_condition(TensorBase condition) except -1
cdef int check_bounds(ScalarType dtype, bint low, bint high) except -1           # clamp
cdef int check_product(TensorBase self) except -1                                # matrix products
cdef int check_not_complex(TensorBase self, str words) except -1                 # NotImplementedError
cdef int check_real(ScalarType dtype, str words) except -1                       # the same as a RuntimeError
cdef int check_floats(ScalarType dtype, str op) except -1                        # no integers, no bool
cdef int check_floats_only(TensorBase self, str words) except -1                 # RuntimeError
cdef int check_full_floats(ScalarType dtype, str op) except -1                   # float32 and float64
cdef int check_same_types(TensorBase a, TensorBase b, str words) except -1       # RuntimeError
cdef int check_order(int64_t n) except -1                                        # polygamma
cdef int check_parts(TensorBase real, TensorBase imag) except -1                 # complex and polar
cdef int check_addcdiv(TensorBase tensor1, TensorBase tensor2) except -1
# An out= of another dtype than `dtype`, in the words that different functions of torch have for it.
cdef int check_out(TensorBase out, ScalarType dtype) except -1
cdef int check_out_in_words(TensorBase out, ScalarType dtype, str words) except -1
cdef int check_out_in_c(TensorBase out, ScalarType dtype, str words) except -1    # the same with C's type names
cdef int check_out_lerp(TensorBase out, ScalarType dtype, TensorBase weight) except -1
cdef int check_out_given(TensorBase out, ScalarType dtype) except -1              # only where `dtype` was given
cdef int check_out_abs(TensorBase out, TensorBase self) except -1
cdef int check_out_truth(TensorBase out, str op) except -1                       # all and any
cdef int check_out_cat(TensorBase out, ScalarType dtype) except -1
cdef int check_no_bool(TensorBase self, str op) except -1                        # argmax, argmin
cdef int check_abs(TensorBase self) except -1
cdef int check_abs_in_place(TensorBase self) except -1
cdef int check_addend(TensorBase self, TensorBase mat2) except -1                 # addmm
cdef int check_number_fits(ScalarType dtype, const Scalar *number) except -1      # NULL fits
cdef int check_factors(TensorBase a, TensorBase b) except -1                     # addmm
cdef int check_same_dtype(TensorBase a, TensorBase b) except -1                  # matrix products
cdef int check_pow(TensorBase self, const Scalar *exponent) except -1
cdef int check_rounding(object rounding_mode) except -1
cdef int check_integral(ScalarType dtype, str op) except -1                       # bitwise operators
cdef int check_fill_value(TensorBase self, TensorBase value) except -1
cdef int check_not_empty(TensorBase self, str op) except -1
cdef int check_float_kernel(ScalarType dtype, str op) except -1                   # only floats have that kernel
cdef int check_float_or_complex(ScalarType dtype, str op) except -1
cdef int check_embedding(TensorBase weight, TensorBase indices) except -1
cdef int check_approximate(object approximate) except -1                          # gelu
cdef int check_hardtanh(TensorBase self, const Scalar *min_val, const Scalar *max_val) except -1
cdef int check_softshrink(TensorBase self, const Scalar *lambd) except -1
