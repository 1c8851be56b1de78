"""Functions of the torch namespace that are for sparse tensors alone."""
from mindtorch import bool as bool_
from mindtorch._core.formats import sparse_csc, sparse_csr
from mindtorch._core.python.torch_function import publish
from mindtorch._core.tensor.dtype import int32, int64
from mindtorch._ops.composite.common import scalar_type, to_out
from mindtorch._sparse.kernels import KERNELS
from mindtorch._sparse.products import addmm, hspmm, mm, smm, sspaddmm
from mindtorch._sparse.tensors import compress, positions

__all__ = ["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "dsmm", "hsmm", "hspmm",
           "resize_as_sparse_", "saddmm", "smm", "spmm", "sspaddmm"]
dsmm = hsmm = spmm = mm
saddmm = addmm
resize_as_sparse_ = KERNELS["resize_as_sparse_"]


def _copied(name):
    def copy(input):
        return getattr(input, name)().clone()
    copy.__name__, copy.__doc__ = f"{name}_copy", f"A copy of what `{name}` gives."
    return copy


def _require_integers(function, indices):
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is bool_:
        raise NotImplementedError(f"\"{function}_cpu\" not implemented for '{scalar_type(indices.dtype)}'")


def _convert_indices_from_coo_to_csr(input, size, *, out_int32=False, out=None):
    """Compressed indices of sorted rows (n,), of which there are `size`: where the elements of each begin, (size + 1,).

    RuntimeError where `input` is no vector, and for a row beyond `size`.
    """
    if input.dim() != 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {input.dim()} dimensional tensor.")
    if size < 0:
        raise RuntimeError(f"size {size} is negative")
    _require_integers("convert_indices_from_coo_to_csr", input)
    found = compress(input.long(), size).to(int32 if out_int32 else int64)
    return to_out("_convert_indices_from_coo_to_csr", found, out)


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False, transpose=False, out=None):
    """The coordinates that compressed indices stand for: rows and columns, after those of batches; (dims, n).

    `transpose` gives columns before rows.
    """
    if crow_indices.dim() != col_indices.dim():
        raise RuntimeError("crow_indices and col_indices are supposed to have the same dimensionality, but got "
                           f"{crow_indices.dim()} and {crow_indices.dim()} dimensional tensors, respectively.")
    _require_integers("convert_indices_from_csr_to_coo", crow_indices)
    found = positions(sparse_csc if transpose else sparse_csr, (crow_indices, col_indices), ())
    return to_out("_convert_indices_from_csr_to_coo", found.to(int32 if out_int32 else int64), out)


_COPIES = ("ccol_indices", "col_indices", "crow_indices", "indices", "row_indices", "values")
globals().update({f"{name}_copy": _copied(name) for name in _COPIES})
__all__ += [f"{name}_copy" for name in _COPIES]
publish(globals(), module="torch")
