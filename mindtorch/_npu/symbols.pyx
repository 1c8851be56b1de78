"""Fills the structs of function pointers from loaded libraries."""
from libc.string cimport memset
from posix.dlfcn cimport dlsym

from mindtorch._npu.cann.symbol_table cimport (
    mindtorch_acl_names, mindtorch_aclnn_names, mindtorch_nnopbase_names, mindtorch_optional_names)


cdef void *look_up(list handles, const char *name) except? NULL:
    cdef void *address
    for handle in handles:
        address = dlsym(<void *><size_t>handle, name)
        if address != NULL:
            return address
    return NULL


cdef void **fill_members(void **member, const char **names, list handles, list missing) except NULL:
    cdef const char **name = names
    while name[0] != NULL:
        member[0] = look_up(handles, name[0])
        if member[0] == NULL:
            missing.append(name[0].decode())
        member += 1
        name += 1
    return member


def fill(list runtime, list operators):
    """Looks up every function in libraries given as dlopen handles, in order; returns (missing required, missing ops).

    Nothing is kept of a toolkit that lacks a required function.
    """
    cdef list missing = [], missing_operators = []
    cdef void **member = fill_members(<void **>&api, <const char **>mindtorch_acl_names, runtime, missing)
    member = fill_members(member, <const char **>mindtorch_nnopbase_names, runtime, missing)
    fill_members(member, <const char **>mindtorch_optional_names, runtime, [])
    fill_members(<void **>&aclnn, <const char **>mindtorch_aclnn_names, operators, missing_operators)
    if missing:
        memset(&api, 0, sizeof(api))
        memset(&aclnn, 0, sizeof(aclnn))
    return missing, missing_operators


cdef int require(void *function, str name) except -1:
    if function == NULL:
        raise RuntimeError(f"the CANN toolkit in use has no {name}: install a newer release")
    return 0
