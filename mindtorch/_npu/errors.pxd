"""Success is one compare; failure is raise_status."""

cdef inline int check(int status, const char *function) except -1 nogil:
    if status == 0:
        return 0
    return raise_status(status, function)

# Always raises. To be called on the thread whose call failed, before its next call: CANN keeps its message per thread.
cdef int raise_status(int status, const char *function) except -1 with gil
