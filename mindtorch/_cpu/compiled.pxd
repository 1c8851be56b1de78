"""The compiled kernels of the CPU: rows with the column `compiled` run the kernel of their ACLNN call."""
from mindtorch._core.operators.operator cimport Argument
from mindtorch._core.tensor.dtype cimport ScalarType

cdef class CompiledKernel:
    cdef tuple entry                    # of mindtorch/_cpu/_gen/calls.py
    cdef unsigned int dtypes            # of the computation, as bits
    cdef list calls                     # None before the first use

# Whether the kernel has computed the results. Otherwise the row's NumPy expression does:
# 1. for other dtypes than the row and its call name, for more than 8 dimensions, for a strided tensor where the call
#    takes none, and where the library has no kernel for these sizes;
# 2. for elements that the kernel refuses, such as an index out of bounds: NumPy's kernel raises torch's error.
cdef bint run_compiled(CompiledKernel kernel, Argument *arguments, ScalarType dtype) except -1
