"""Sparse tensors: COO, CSR, CSC, BSR and BSC, as tensors of indices and of values.

What a function does for sparse tensors is a kernel here: Python over operators of the dense parts, which run on the
device of the tensors, and whose gradients are those of these operators. `tensors` makes sparse tensors and takes them
apart, the only two steps with a derivative of their own. See docs/design.md, section 4.
"""
from mindtorch._core import hooks


def _find_sparse_kernel(function):
    from mindtorch._sparse import entry  # imported when the first function meets a sparse tensor
    hooks.find_sparse_kernel = entry.find_sparse_kernel
    return entry.find_sparse_kernel(function)


hooks.find_sparse_kernel = _find_sparse_kernel
