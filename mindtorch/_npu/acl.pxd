"""CANN's functions: lookup in the libraries, exceptions for their statuses, and the runtime under pyACL's names."""
from mindtorch._npu.cann cimport CannApi


# --- symbols ---------------------------------------------------------------------------------------------------------
# Runtime functions are called through `api`. Functions of ACLNN are looked up by name.


cdef CannApi api            # the loader fills it; optional functions may stay NULL

cdef struct AclnnFunction:  # both NULL where the toolkit lacks the operator
    void *phase1            # ...GetWorkspaceSize
    void *phase2

cdef int find_function(AclnnFunction *found, str name) except -1

# The pointers to the functions of these names (the last is NULL) in the libraries; `missing` gets the names of others.
# Returns the place behind the last pointer.
cdef void **find_symbols(void **member, const char **names, list handles, list missing) except NULL

# Raises if `function` is NULL: the toolkit lacks an optional function.
cdef int require_function(void *function, str name) except -1


# --- errors ----------------------------------------------------------------------------------------------------------
# Checking a status costs one comparison; `raise_status` handles failures.


cdef inline int check(int status, const char *function) except -1 nogil:
    if status == 0:
        return 0
    return raise_status(status, function)

# Whether a call failed with the status that its caller handles, whose message is dropped. Raises for other failures.
cdef bint failed_with(int status, int expected, const char *function) except -1

# Always raises. The thread whose call failed calls this before its next call, because CANN keeps one message a thread.
cdef int raise_status(int status, const char *function) except -1 with gil
