"""torch.Generator: where random numbers come from, one default for each device."""
from libc.stdint cimport int64_t, uint64_t


cdef class Generator:
    cdef int type_code                  # DeviceType
    cdef int index
    cdef readonly object stream         # CPU: mersenne.Mersenne
    cdef uint64_t seed_value            # NPU: Philox's key, and how far its counter has gone
    cdef int64_t offset
    cdef int reseed(self, uint64_t seed) except -1
    cdef int64_t advance(self, int64_t steps)      # the offset before; moved on by the next multiple of 4

# The generator to use on a device: the one given, which must be of that kind, or the device's default.
cdef Generator generator_for(Generator given, int type_code, int index)
cdef Generator require_generator(object value, const char *function, const char *argument)      # None stays None
