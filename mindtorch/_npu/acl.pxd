"""CANN's functions: finding them in libraries, the errors of their statuses, and the runtime under pyACL's names."""
from mindtorch._npu.cann cimport CannApi


# --- symbols ---------------------------------------------------------------------------------------------------------
# The struct through which every call of CANN's runtime goes, and the functions of ACLNN by name.


cdef CannApi api            # runtime and descriptors: complete once the loader has succeeded, but for the optional ones

cdef struct AclnnFunction:  # both NULL where the toolkit lacks the operator
    void *phase1            # ...GetWorkspaceSize
    void *phase2

cdef int find_function(AclnnFunction *found, str name) except -1

# Raises where the toolkit lacks an optional function.
cdef int require(void *function, str name) except -1


# --- errors ----------------------------------------------------------------------------------------------------------
# Success is one compare; failure is raise_status.


cdef inline int check(int status, const char *function) except -1 nogil:
    if status == 0:
        return 0
    return raise_status(status, function)

# Always raises. To be called on the thread whose call failed, before its next call: CANN keeps its message per thread.
cdef int raise_status(int status, const char *function) except -1 with gil
