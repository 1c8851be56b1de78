"""Memory and shapes for formulas in Cython, which run kernels by themselves: mindtorch/_core/_gen/direct.pxd."""
cimport cython
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport Shape, Storage, TensorBase


# One block for all tensors of a formula, which are cut from it one after the other: their memory costs the host once.
# They have the shape and the dtype of `like` unless their name says otherwise, and none of the methods of Tensor.
@cython.final
@cython.no_gc
cdef class Space:
    cdef TensorBase like
    cdef Storage storage
    cdef size_t used            # bytes
    cdef int left               # numbers for each element

    cdef TensorBase cut(self, Shape *shape, int width, ScalarType dtype)
    cdef TensorBase room(self)
    cdef TensorBase truth(self)
    cdef TensorBase table(self, TensorBase row)             # a row beside each element

cdef int shape_of(Shape *shape, TensorBase x) except -1
cdef Space space_for(TensorBase like, int numbers)          # so many numbers for each element of `like`

cpdef bint fits(TensorBase out, int64_t width)              # whether a table of it is made at once
cdef bint same_sizes(TensorBase a, TensorBase b)
cdef TensorBase spread(TensorBase x, TensorBase out)        # on the device of `out`, and in its shape; a Tensor
cdef TensorBase upright(TensorBase x)                       # the elements as the rows of a table
cdef TensorBase inserted(TensorBase x, int dim)             # with a dimension of one there
cdef TensorBase part(TensorBase x, int dim, int64_t first, int64_t count)
cdef TensorBase integers(TensorBase x)                      # the bits of its floating point numbers
cdef TensorBase columns(TensorBase table, int64_t first, int64_t count)
cdef TensorBase first_of(TensorBase table)                  # the first number of each row
cdef int total(TensorBase table, TensorBase out) except -1  # each row's sum
