"""Tables of numbers, for formulas in Cython."""
cimport cython

from mindtorch._core.tensor cimport TensorBase


@cython.final
cdef class Table:
    cdef object make
    cdef tuple key
    cdef dict kept              # by dtype and device

    cpdef TensorBase on(self, TensorBase like)
    cdef TensorBase made(self, TensorBase like)


# The first of a pair for float32, the second for float64.
cdef TensorBase numbers(tuple pair, TensorBase like)
