"""torch.Generator: where random numbers come from, one default for each device."""
from libc.stdint cimport int64_t, intptr_t, uint64_t

from mindtorch._core.tensor.tensor cimport TensorBase


cdef class Generator:
    cdef int type_code                  # DeviceType
    cdef int index
    cdef readonly object engine         # CPU: MersenneTwister
    cdef uint64_t seed_value            # NPU: Philox's key
    cdef int64_t offset                 # NPU: Philox's counter
    cdef dict capture_generators        # NPU: capture -> the capture generator, which its operators draw from
    # Of a capture generator: on the device, one element each, which a replay fills. Operators add to the second one
    # the value of `offset` when they were captured.
    cdef TensorBase seed_tensor, offset_tensor
    cdef int reseed(self, uint64_t seed) except -1
    cdef int64_t advance(self, int64_t steps)      # adds the next multiple of 4 to the offset; returns the old one
    cdef Generator begin_capture(self, intptr_t capture)        # makes the capture generator
    cdef int end_capture(self, intptr_t capture) except -1
    cdef Generator capture_generator(self, intptr_t capture)  # RuntimeError where the graph does not know this one

cdef Generator default_npu_generator(int index)

# The generator to use on a device: the one given, which must be of that kind, or the device's default.
cdef Generator generator_for(Generator given, int type_code, int index)
cdef Generator require_generator(object value, const char *function, const char *argument)      # None stays None
