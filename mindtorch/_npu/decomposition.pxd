"""Operators that ACLNN lacks, as Python functions over other operators: mindtorch/_npu/_gen/decompositions.py."""
from mindtorch._core.operator cimport MAX_ARGUMENTS, Argument
from mindtorch._core.scalar cimport ScalarType


cdef class Decomposition:
    cdef object function
    cdef int count                                  # arguments, with the results
    cdef int results                                # without any, `self` is written
    cdef unsigned char conversions[MAX_ARGUMENTS]

cdef int run_decomposition(Decomposition made, Argument *arguments, ScalarType dtype) except -1
