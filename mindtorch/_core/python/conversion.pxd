"""Python objects to C values and back: elements, arrays, and the arguments of functions."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- element access --------------------------------------------------------------------------------------------------
# Elements in and out of tensors: one number, nested lists, NumPy arrays.


cdef void load(const char *address, ScalarType dtype, Scalar *out) noexcept          # one element in host memory
# Host memory = a number, cast to `dtype` (not Half nor BFloat16); RuntimeError when it does not fit, as torch.
cdef int store(char *address, ScalarType dtype, const Scalar *value) except -1
cdef int check_fits(const Scalar *value, ScalarType dtype) except -1                  # the check alone, any dtype
# The value of a tensor of one element; waits for its device.
cdef int read_scalar(TensorBase tensor, Scalar *out) except -1
cdef TensorBase scalar_tensor(const Scalar *value, ScalarType dtype)                  # 0-d, on the CPU
cdef TensorBase to_host(TensorBase tensor)                                            # itself when it is on the CPU
cdef object as_array(TensorBase tensor)                                               # CPU only; shares the memory
cdef TensorBase from_array(object array)                                              # shares the memory
cdef ScalarType stored_as(ScalarType dtype) noexcept                                  # what `store` writes for `dtype`
cdef TensorBase cast_on_host(TensorBase tensor, ScalarType dtype)                     # itself when it has that dtype


# --- arguments -------------------------------------------------------------------------------------------------------
# Reading of Python arguments, with torch's TypeErrors.
#
# `function` is the name in messages ("add"), `argument` the parameter's, `position` its number as the caller counts it
# (self of a method does not count); 0 for one given by keyword, which leaves "(position n)" out of the message.


# Ints from one int or from a sequence of them. 0-d integer tensors count as ints.
cdef int parse_ints(object value, Shape *out, const char *function, const char *argument, int position=*) except -1
# The same from *args: `permute(1, 0)`, `permute((1, 0))`. No arguments at all make an empty list.
cdef int parse_optional_int(object value, Shape *out, const char *function, const char *argument,
                            int position=*) except -1        # None: no dimension
cdef int parse_varargs(tuple args, Shape *out, const char *function, const char *argument) except -1
# The sizes of `f(2, 3)`, `f((2, 3))` and `f(size=(2, 3))`, for parse_varargs.
cdef tuple sizes_argument(tuple args, dict kwargs, str function, str name)
# None: an empty list, which means "all dimensions" to reductions.
cdef int parse_optional_ints(object value, Shape *out, const char *function, const char *argument,
                             int position=*) except -1

cdef int parse_bools(object value, Shape *out, const char *function, const char *argument, int position=*) except -1

cdef TensorBase require_tensor(object value, const char *function, const char *argument, int position=*)
cdef TensorBase optional_tensor(object value, const char *function, const char *argument, int position=*)   # or None
cdef list require_tensors(object value, const char *function, const char *argument, int position=*)
cdef bint is_scalar_list(object value) except -1
cdef tuple require_scalars(object value, const char *function, const char *argument, int position=*)
cdef bint is_int(object value) except -1
cdef int64_t as_int(object value) except? -1       # of what is known to be an int; ValueError beyond 64 bits
cdef int64_t require_int(object value, const char *function, const char *argument, int position=*) except? -1
# NULL where the value is None; else `number`, which holds the value.
cdef const double *optional_float(object value, double *number, const char *function, const char *argument,
                                  int position=*) except? NULL
cdef double require_float(object value, const char *function, const char *argument, int position=*) except? -1.0
cdef int require_bool(object value, const char *function, const char *argument, int position=*) except -1
# A Python or NumPy number, or a 0-d tensor, which is read (and so waits for its device).
cdef int require_scalar(object value, Scalar *out, const char *function, const char *argument, int position=*) except -1
cdef ScalarType require_dtype(object value, ScalarType otherwise, const char *function, const char *argument,
                              int position=*) except *
# torch.device, string, index or None; see device.resolve.
cdef int require_device(object value, int *type_code, int *index, const char *function) except -1

# Always raises: "view() received an invalid combination of arguments - got (str), but expected one of: ...".
# `expected` lists the signatures, one a line.
cdef tuple given(tuple values, tuple defaults)       # without trailing values that are the defaults
cdef int no_combination(const char *function, tuple args, dict kwargs, str expected) except -1
cdef int wrong_type(object value, const char *function, const char *argument, int position, str wanted) except -1
cdef str type_label(object value)                  # a value's type as messages name it: "Tensor", "torch.dtype", "int"
