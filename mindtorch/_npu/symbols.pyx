"""Finds functions in loaded libraries: those of CannApi at once, those of ACLNN when an operator is first used."""
from libc.string cimport memset
from posix.dlfcn cimport dlsym

from mindtorch._npu.cann.symbol_table cimport (
    mindtorch_acl_names, mindtorch_nnopbase_names, mindtorch_optional_names)

cdef list OPERATORS = []        # handles of the libraries that have ACLNN's functions


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
    """Looks up every function in libraries given as dlopen handles, in order. Gives the required ones that lack.

    Nothing is kept of a toolkit that lacks a required function. Those of ACLNN are found in `operators` later.
    """
    global OPERATORS
    cdef list missing = []
    cdef void **member = fill_members(<void **>&api, <const char **>mindtorch_acl_names, runtime, missing)
    member = fill_members(member, <const char **>mindtorch_nnopbase_names, runtime, missing)
    fill_members(member, <const char **>mindtorch_optional_names, runtime, [])
    OPERATORS = operators
    if missing:
        memset(&api, 0, sizeof(api))
        OPERATORS = []
    return missing


cdef int find_function(AclnnFunction *found, str name) except -1:
    found.phase1 = look_up(OPERATORS, f"{name}GetWorkspaceSize".encode())
    found.phase2 = look_up(OPERATORS, name.encode())
    if found.phase1 == NULL or found.phase2 == NULL:
        found.phase1 = found.phase2 = NULL
    return 0


def has_function(str name):
    """Whether the toolkit in use has a function of ACLNN, both of its phases."""
    cdef AclnnFunction found
    find_function(&found, name)
    return found.phase1 != NULL


cdef int require(void *function, str name) except -1:
    if function == NULL:
        raise RuntimeError(f"the CANN toolkit in use has no {name}: install a newer release")
    return 0
