"""torch.Generator: where random numbers come from, one default for each device."""
from libc.stdint cimport int64_t, intptr_t, uint64_t

from mindtorch._core.tensor.tensor cimport TensorBase


cdef class Generator:
    cdef int type_code                  # DeviceType
    cdef int index
    cdef readonly object engine         # CPU: MersenneTwister
    cdef uint64_t seed_value            # NPU: Philox's key, and how far its counter has gone
    cdef int64_t offset
    cdef dict capture_generators                 # NPU: by capture, the generator that its operators draw from
    # Of a stand-in: on the device, one element each, which a replay fills. The operators add to the second what
    # `offset` was when they were captured.
    cdef TensorBase seed_tensor, offset_tensor
    cdef int reseed(self, uint64_t seed) except -1
    cdef int64_t advance(self, int64_t steps)      # the offset before; moved on by the next multiple of 4
    cdef Generator begin_capture(self, intptr_t capture)        # the stand-in from now on
    cdef int end_capture(self, intptr_t capture) except -1
    cdef Generator capture_generator(self, intptr_t capture)  # RuntimeError where the capture does not know it

cdef Generator default_npu_generator(int index)

# The generator to use on a device: the one given, which must be of that kind, or the device's default.
cdef Generator generator_for(Generator given, int type_code, int index)
cdef Generator require_generator(object value, const char *function, const char *argument)      # None stays None
