"""include/mindtorch/symbol_table.h: names of the functions that the loader looks up."""

cdef extern from "mindtorch/symbol_table.h" nogil:
    const char *mindtorch_acl_names[]
    const char *mindtorch_nnopbase_names[]
    const char *mindtorch_optional_names[]
