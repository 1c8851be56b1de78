"""autocast: the state of the calling thread, and what it does to the arguments of an operator."""
from mindtorch._core.tensor.tensor cimport TensorBase


cdef enum Policy:                     # of _ops/autocast.toml
    NOT_LISTED = 0
    LOWER_PRECISION_FP = 1
    FP32 = 2
    FP32_SET_OPT_DTYPE = 3
    PROMOTE = 4
    BANNED = 5

cdef int threads                      # in how many threads autocast is on, for some device: the test that is free
# The arguments, tensors, lists of them and None, as the policy of their device has them.
cdef tuple cast(int cpu, int npu, tuple arguments)
cdef tuple cast_listed(str name, tuple arguments)          # with the policies of that name
# A kernel that calls operators, as torch's do not, turns autocast off for them and on again.
cdef unsigned int suspend() noexcept
cdef void resume(unsigned int devices) noexcept
