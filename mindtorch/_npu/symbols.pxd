"""The struct through which every call of CANN's runtime goes, and the functions of ACLNN by name."""
from mindtorch._npu.cann.cann_api cimport CannApi

cdef CannApi api            # runtime and descriptors: complete once the loader has succeeded, but for the optional ones

cdef struct AclnnFunction:  # both NULL where the toolkit lacks the operator
    void *phase1            # ...GetWorkspaceSize
    void *phase2

cdef int find_function(AclnnFunction *found, str name) except -1

# Raises where the toolkit lacks an optional function.
cdef int require(void *function, str name) except -1
