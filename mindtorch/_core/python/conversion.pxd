"""Conversions between Python objects and C values: elements of tensors, NumPy arrays, arguments of functions."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- elements and arrays ---------------------------------------------------------------------------------------------

cdef void load_element(const char *address, ScalarType dtype, Scalar *out) noexcept  # reads an element in host memory
# Writes a number, cast to `dtype` (not Half nor BFloat16), to host memory. RuntimeError where it overflows, as torch.
cdef int store_element(char *address, ScalarType dtype, const Scalar *value) except -1
cdef int raise_overflow(ScalarType dtype) except -1                                  # the RuntimeError itself
# the check of `store_element`, any dtype
cdef int check_scalar_overflow(const Scalar *value, ScalarType dtype) except -1
# Reads a tensor of one element; waits for its device.
cdef int read_scalar(TensorBase tensor, Scalar *out) except -1
cdef TensorBase scalar_tensor(const Scalar *value, ScalarType dtype)                  # 0-d, on the CPU
cdef object as_array(TensorBase tensor)                                               # CPU only; shares the memory
cdef TensorBase from_array(object array)                                              # shares the memory
cdef ScalarType storable_dtype(ScalarType dtype) noexcept  # Float where `store_element` cannot write the dtype
cdef TensorBase cast_on_host(TensorBase tensor, ScalarType dtype)                     # itself where it has that dtype


# --- arguments -------------------------------------------------------------------------------------------------------
# Checks and conversions of Python arguments, with torch's TypeErrors.
#
# `function` ("add") and `argument` (the parameter) are for messages. `position` is the parameter's as the caller counts
# (without self of a method). 0 means a keyword argument: the message then has no "(position n)".

# An int, or a sequence of ints. 0-d integer tensors count as ints.
cdef int parse_ints(object value, Shape *out, const char *function, const char *argument, int position=*) except -1
cdef int parse_list(object value, Shape *out, const char *function, const char *argument, int position=*) except -1
# One of the two; an empty list for None: to reductions that means all dimensions.
cdef int parse_optional_ints(object value, bint takes_int, Shape *out, const char *function, const char *argument,
                             int position=*) except -1
# At most one int; none for None.
cdef int parse_optional_int(object value, Shape *out, const char *function, const char *argument,
                            int position=*) except -1
# Ints from *args: `permute(1, 0)` and `permute((1, 0))`.
cdef int parse_varargs(tuple args, Shape *out, const char *function, const char *argument) except -1
# What parse_varargs takes, from a call `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`.
cdef tuple sizes_argument(tuple args, dict kwargs, str function, str name)
cdef int parse_bools(object value, Shape *out, const char *function, const char *argument, int position=*) except -1

cdef TensorBase require_tensor(object value, const char *function, const char *argument, int position=*)
cdef TensorBase optional_tensor(object value, const char *function, const char *argument, int position=*)   # or None
cdef list require_tensors(object value, const char *function, const char *argument, int position=*)
cdef bint is_scalar_list(object value) except -1
cdef tuple require_scalars(object value, const char *function, const char *argument, int position=*)
cdef bint is_int(object value) except -1
cdef int64_t as_int(object value) except? -1       # where is_int holds; ValueError beyond 64 bits
cdef int64_t require_int(object value, const char *function, const char *argument, int position=*) except? -1
# NULL for None, else `number`, which this sets.
cdef const double *optional_float(object value, double *number, const char *function, const char *argument,
                                  int position=*) except? NULL
cdef double require_float(object value, const char *function, const char *argument, int position=*) except? -1.0
cdef int require_bool(object value, const char *function, const char *argument, int position=*) except -1
# A Python or NumPy number, or a 0-d tensor, which this reads: that waits for its device.
cdef int require_scalar(object value, Scalar *out, const char *function, const char *argument, int position=*) except -1
cdef ScalarType require_dtype(object value, ScalarType otherwise, const char *function, const char *argument,
                              int position=*) except *
# A torch.device, string, index or None, as `resolve_device` of tensor.pxd takes it.
cdef int require_device(object value, int *type_code, int *index, const char *function) except -1

# Raises "view() received an invalid combination of arguments - got (str), but expected one of: ...". `expected` has one
# signature per line.
cdef int raise_no_overload(const char *function, tuple args, dict kwargs, str expected) except -1
cdef int raise_wrong_type(object value, const char *function, const char *argument, int position, str wanted) except -1
cdef tuple strip_defaults(tuple values, tuple defaults)  # the values without the last ones that equal their defaults
cdef str type_name(object value)                         # the type's name in messages: "Tensor", "torch.dtype", "int"
