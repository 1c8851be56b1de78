"""Products of groups of matrices whose sizes differ, as mixtures of experts need them."""


from mindtorch import Tensor, dtype
from mindtorch._ops.composite.common import scalar_type as _name
from mindtorch._ops.operators import ops as _ops

__all__ = ["grouped_mm"]


def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None,
               out_dtype: dtype | None = None) -> Tensor:
    """The products of groups of `mat_a` with groups of `mat_b`.

    A 3-D operand has one matrix a group. A 2-D one is cut: `offs`, of int32, says where each group ends. (M, K) with
    (G, K, N) cuts rows and gives (M, N); (G, M, K) with (K, N) cuts columns of the second; (M, K) with (K, N) cuts the
    dimension that is summed and gives (G, M, N). Two 3-D operands need no `offs`. Elements beyond the last group are 0.
    Cutting waits for the device. RuntimeError for other dtypes than float32, bfloat16 and float16, and for strides that
    are no multiples of 16 bytes.
    """
    _check_operands(mat_a, mat_b, offs, out_dtype)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if offs is None:
        return _ops.bmm(mat_a, mat_b)
    ends = offs.tolist()
    spans = [(start, max(end - start, 0)) for start, end in zip([0, *ends], ends, strict=False)]
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        return _ops.stack([mat_a.narrow(1, *span) @ mat_b.narrow(0, *span) for span in spans])
    if mat_a.dim() == 2:
        parts = [mat_a.narrow(0, *span) @ matrix for span, matrix in zip(spans, mat_b.unbind(), strict=True)]
        return _filled(parts, 0, mat_a.size(0))
    parts = [matrix @ mat_b.narrow(1, *span) for span, matrix in zip(spans, mat_a.unbind(), strict=True)]
    return _filled(parts, 1, mat_b.size(1))


def _filled(parts, dim, length):
    """The parts side by side along `dim`, and zeros up to `length`."""
    shape = list(parts[0].shape)
    shape[dim] = length - sum(part.size(dim) for part in parts)
    return _ops.cat([*parts, parts[0].new_zeros(shape)] if shape[dim] else parts, dim)


def _check_operands(mat_a, mat_b, offs, out_dtype):
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if _name(matrix.dtype) not in ("Float", "BFloat16", "Half"):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {_name(matrix.dtype)}")
        if matrix.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    flat = mat_a.dim() == 2 or mat_b.dim() == 2
    if (mat_a.dim() == 3 or mat_b.dim() == 3) and mat_a.size(-1) != mat_b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    for matrix in (mat_a, mat_b):
        _check_strides(matrix)
    if flat != (offs is not None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if not flat and mat_a.size(0) != mat_b.size(0):
        raise RuntimeError("batched dimension has to match")
    if flat:
        _check_offsets(mat_a, mat_b, offs)
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


def _check_offsets(mat_a, mat_b, offs):
    if offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if _name(offs.dtype) != "Int":
        raise RuntimeError("Offsets have to be int32")
    for matrix in (mat_a, mat_b):
        if matrix.dim() == 3 and matrix.size(0) != offs.numel():
            raise RuntimeError("matrix batch sizes have to match")


def _check_strides(matrix):
    """One of the two dimensions must be dense, the other begin at multiples of 16 bytes."""
    rows, columns = matrix.stride()[-2:]
    wide = rows if columns == 1 else columns
    if 1 not in (rows, columns):
        raise RuntimeError(f"Invalid strides/sizes, got {list(matrix.stride())} for strides and {list(matrix.shape)} "
                           "for sizes")
    if wide * matrix.itemsize % 16:
        raise RuntimeError("strides should be multiple of 16 bytes")
