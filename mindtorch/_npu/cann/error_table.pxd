"""include/mindtorch/error_table.h: what a status means."""

cdef extern from "mindtorch/error_table.h" nogil:
    ctypedef struct StatusText:
        int status
        const char *name
        const char *meaning

    StatusText mindtorch_statuses[]
