"""Parameters of kernels for operators on lists of tensors: _foreach_* and _fused_*."""


def parameters(row) -> str:
    return ", ".join(f"{a.c_type}{a.name}" for a in row.kernel_arguments)


def kernel_parameters(row) -> str:
    """The list of results comes last; it is `self` where that is written."""
    return parameters(row) + (", list out" if row.schema.returns else "")
