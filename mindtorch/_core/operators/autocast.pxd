"""autocast: its state in the calling thread, and the casts of an operator's arguments."""
from mindtorch._core.tensor.tensor cimport TensorBase


cdef enum Policy:                     # of _ops/rows/autocast.toml
    NOT_LISTED = 0
    LOWER_PRECISION_FP = 1
    FP32 = 2
    FP32_SET_OPT_DTYPE = 3
    PROMOTE = 4
    BANNED = 5

cdef int enabled_threads                      # the number of threads in which autocast is on for some device
# The arguments (tensors, lists of tensors, None), cast by the policy of their device.
cdef tuple cast_arguments(int cpu, int npu, tuple arguments)
cdef tuple cast_by_name(str name, tuple arguments)          # by the policies of that name in autocast.toml
# A kernel that calls operators turns autocast off for them: disable() returns what set_enabled_devices() takes.
cdef unsigned int disable() noexcept
cdef void set_enabled_devices(unsigned int devices) noexcept
