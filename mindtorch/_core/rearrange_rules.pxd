"""Shapes and checks of the rows that move elements along dimensions; rows name them as they do those of infer.pxd.

`dim` and `output_size` have one entry, or none where they are not given: all elements count as one line then.
"""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


# shapes
cdef int repeated(Shape *shape, TensorBase self, const Shape *repeats) except -1
cdef int interleaved_evenly(Shape *shape, TensorBase self, int64_t repeats, const Shape *dim,
                            const Shape *output_size) except -1
# The length is read from `repeats`, which waits for the device, unless output_size tells it.
cdef int interleaved(Shape *shape, TensorBase self, TensorBase repeats, const Shape *dim,
                     const Shape *output_size) except -1
cdef int interleaved_places(Shape *shape, TensorBase repeats, const Shape *output_size) except -1

# checks
cdef int check_flip(TensorBase self, const Shape *dims) except -1
cdef int check_roll(TensorBase self, const Shape *shifts, const Shape *dims) except -1
cdef int check_repeats(TensorBase self, TensorBase repeats, const Shape *dim) except -1
cdef int check_places(TensorBase repeats) except -1
cdef int check_channel_shuffle(TensorBase self, int64_t groups) except -1
cdef int check_triangular(TensorBase self, str op) except -1
cdef int check_trace(TensorBase self) except -1
