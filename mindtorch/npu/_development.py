"""For compilers: folders with declarations and libraries of the CANN in use, and options of the linker."""
from mindtorch._npu import acl_loader, toolkit

# Beside libopapi.so; where that is missing, those that have its functions.
_LIBRARIES = ("libascendcl.so", "libnnopbase.so")


def _root():
    acl_loader.ensure_acl()         # what is linked finds the libraries loaded
    return acl_loader.toolkit().root


def include_folders():
    """Folders with the declarations of ACL and ACLNN: the toolkit's, where it has them, and the simulator's."""
    return list(dict.fromkeys([*toolkit.include_folders(_root()), *toolkit.include_folders(toolkit.SIMULATOR)]))


def library_folders():
    """Folders with CANN's libraries."""
    return toolkit.library_folders(_root())


def link_options():
    """The linker's options for ACL and ACLNN."""
    operators = [name for name in ("libopapi.so",) if toolkit.find_library(_root(), name)]
    operators = operators or [name for name in acl_loader.SPLIT_OPERATORS if toolkit.find_library(_root(), name)]
    folders = [option for folder in library_folders() for option in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    return [*folders, *(f"-l:{name}" for name in (*_LIBRARIES, *operators))]
