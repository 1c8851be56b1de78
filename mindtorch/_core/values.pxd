"""Elements in and out of tensors: one number, nested lists, NumPy arrays."""
from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport TensorBase


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
