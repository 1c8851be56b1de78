"""Functions of the torch namespace that are for sparse tensors alone."""
from mindtorch._core.python.torch_function import publish
from mindtorch._sparse.kernels import KERNELS
from mindtorch._sparse.products import addmm, hspmm, mm, smm, sspaddmm

__all__ = ["dsmm", "hsmm", "hspmm", "resize_as_sparse_", "saddmm", "smm", "spmm", "sspaddmm"]
dsmm = hsmm = spmm = mm
saddmm = addmm
resize_as_sparse_ = KERNELS["resize_as_sparse_"]


def _copied(name):
    def copy(input):
        return getattr(input, name)().clone()
    copy.__name__, copy.__doc__ = f"{name}_copy", f"A copy of what `{name}` gives."
    return copy


_COPIES = ("ccol_indices", "col_indices", "crow_indices", "indices", "row_indices", "values")
globals().update({f"{name}_copy": _copied(name) for name in _COPIES})
__all__ += [f"{name}_copy" for name in _COPIES]
publish(globals(), module="torch")
