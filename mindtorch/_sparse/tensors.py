"""How sparse tensors are made and taken apart, and the gradients of these two steps."""
from mindtorch import bool as bool_
from mindtorch import int64, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from mindtorch._core.python import torch_function
from mindtorch._core.tensor.tensor import TensorBase, make_sparse, sparse_storage
from mindtorch._ops.operators import ops
from mindtorch.autograd.function import Function

COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
BY_ROWS, BLOCKED = (sparse_csr, sparse_bsr), (sparse_bsr, sparse_bsc)
LAYOUT_NAMES = {strided: "Strided", sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc",
                sparse_bsr: "SparseBsr", sparse_bsc: "SparseBsc"}


def is_sparse(value):
    """Whether a value is a sparse tensor, of whatever layout."""
    return isinstance(value, TensorBase) and value.layout in LAYOUT_NAMES and value.layout is not strided


def require_coo(name, tensor, wanted="sparse coordinate tensor"):
    """RuntimeError unless the tensor has coordinates."""
    if tensor.layout is not sparse_coo:
        raise RuntimeError(f"{name} expected {wanted} layout but got {LAYOUT_NAMES[tensor.layout]}")


def refuse(name, tensor):
    """NotImplementedError: the operator has no form for tensors of this layout."""
    kind = "Sparse" if tensor.layout is sparse_coo else "SparseCsr"
    raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the "
                              f"'{kind}{tensor.device.type.upper()}' backend. The operator has no form for tensors of "
                              f"layout {tensor.layout}: call to_dense() first.")


# --- making and taking apart ------------------------------------------------------------------------------------------

def make(layout, indices, values, size, coalesced=False):
    """A sparse tensor of these tensors; the history of the values is its history."""
    coalesced = coalesced or (layout is sparse_coo and indices[0].shape[1] < 2)
    if values.requires_grad:
        return _MakeSparse.apply(values, layout, indices, size, coalesced)
    return _make(layout, indices, values.detach(), size, coalesced)


def _make(layout, indices, values, size, coalesced):
    torch_function.activate()           # from now on functions look for sparse tensors among their arguments
    return make_sparse(layout, indices, values, tuple(size), coalesced)


def indices_of(sparse):
    """The tensor of coordinates, or the tensors of compressed and of plain indices: a tuple."""
    return sparse_storage(sparse).indices


def values_of(sparse):
    """The tensor of values; its gradient becomes a sparse gradient."""
    return _Values.apply(sparse) if sparse.requires_grad else sparse_storage(sparse).values.detach()


def with_values(sparse, values, size=None):
    """A sparse tensor with other values at the same indices."""
    parts = sparse_storage(sparse)
    return make(parts.layout, parts.indices, values, sparse.shape if size is None else size, parts.coalesced)


class _MakeSparse(Function):
    @staticmethod
    def forward(ctx, values, layout, indices, size, coalesced):
        ctx.layout, ctx.indices, ctx.shape = layout, indices, values.shape
        return _make(layout, indices, values.detach(), size, coalesced)

    @staticmethod
    def backward(ctx, grad):
        return values_at(grad, ctx.layout, ctx.indices, ctx.shape), None, None, None, None


class _Values(Function):
    @staticmethod
    def forward(ctx, sparse):
        parts = sparse_storage(sparse)
        ctx.layout, ctx.indices, ctx.size, ctx.coalesced = parts.layout, parts.indices, sparse.shape, parts.coalesced
        return parts.values.detach()

    @staticmethod
    def backward(ctx, grad):
        return make(ctx.layout, ctx.indices, grad, ctx.size, ctx.coalesced)


def values_at(grad, layout, indices, shape):
    """The elements of a gradient, dense or sparse, at the indices of a sparse tensor with values of that shape."""
    if is_sparse(grad):
        parts = sparse_storage(grad)
        if parts.layout is layout and _same_memory(parts.indices, indices):
            return values_of(grad)
        grad = to_dense(grad)
    return gather(grad, indices[0] if layout is sparse_coo else positions(layout, indices, shape)).reshape(shape)


def make_rows(numbers, rows, size):
    """A COO tensor of `size` rows, of which those with these numbers have elements."""
    return make(sparse_coo, (numbers.unsqueeze(0),), rows, (size, *rows.shape[1:]))


def _same_memory(first, second):
    return all(a is b or (a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride())
               for a, b in zip(first, second, strict=True))


# --- coordinates ------------------------------------------------------------------------------------------------------

def count(sizes):
    """The product of the sizes."""
    product = 1
    for size in sizes:
        product *= size
    return product


def flatten(indices, sizes):
    """Each column of coordinates as one number, by which columns are ordered."""
    flat = ops.zeros((indices.shape[1],), dtype=indices.dtype, device=indices.device)
    for row, size in zip(indices.unbind(0), sizes, strict=False):
        flat = flat * size + row
    return flat


def unflatten(flat, sizes):
    """The reverse of `flatten`."""
    rows = []
    for size in reversed(sizes):
        rows.append(flat.remainder(max(size, 1)))
        flat = flat.div(max(size, 1), rounding_mode="floor")
    return stacked(rows[::-1], flat)


def stacked(rows, like):
    """Rows as a tensor of coordinates; there may be none."""
    return ops.stack(rows) if rows else ops.zeros((0, like.shape[-1]), dtype=like.dtype, device=like.device)


def rows_of(indices, dims):
    """The coordinates of these dimensions."""
    rows = indices.unbind(0)
    return stacked([rows[dim] for dim in dims], indices)


def gather(dense, indices):
    """The elements of a dense tensor at coordinates of its first dimensions."""
    dims = indices.shape[0]
    rows = dense.reshape(count(dense.shape[:dims]), *dense.shape[dims:])
    return rows.index_select(0, flatten(indices, dense.shape[:dims]))


def sum_at(values, places, size):
    """A tensor with `size` rows, the sums of the values for each place; of bool, whether there is one."""
    if values.dtype is bool_:
        return sum_at(values.int(), places, size) != 0
    zeros = ops.zeros((size, *values.shape[1:]), dtype=values.dtype, device=values.device)
    return zeros.index_add(0, places, values)


def sparse_dims(sparse):
    """The number of dimensions that have coordinates."""
    return indices_of(sparse)[0].shape[0] if sparse.layout is sparse_coo else 2


def coalesce(sparse):
    """The tensor with its coordinates in order, each once; values of one place are added."""
    parts = sparse_storage(sparse)
    if parts.coalesced:
        return sparse
    indices, = parts.indices
    if indices.shape[1] < 2:
        return make(sparse_coo, parts.indices, values_of(sparse), sparse.shape, True)
    sizes = sparse.shape[:indices.shape[0]]
    flat, places = ops.unique(flatten(indices, sizes), return_inverse=True)
    values = sum_at(values_of(sparse), places, flat.shape[0])
    return make(sparse_coo, (unflatten(flat, sizes),), values, sparse.shape, True)


def batch_dims(sparse):
    """The number of dimensions before the matrices of a compressed layout."""
    return indices_of(sparse)[0].dim() - 1 if sparse.layout in COMPRESSED else 0


def blocksize_of(sparse):
    """The shape of the blocks; () where the layout has none."""
    first = batch_dims(sparse) + 1
    return tuple(sparse_storage(sparse).values.shape[first:first + 2]) if sparse.layout in BLOCKED else ()


def to_dense(sparse):
    """The dense tensor."""
    if not is_sparse(sparse):
        return sparse
    indices, values = coordinates(sparse)
    sizes = sparse.shape[:indices.shape[0]]
    return sum_at(values, flatten(indices, sizes), count(sizes)).reshape(sparse.shape)


def positions(layout, indices, shape):
    """The coordinates that compressed indices stand for, of values of that shape: those of batches, rows, columns."""
    compressed, plain = (index.long() for index in indices)
    batch, number = compressed.shape[:-1], compressed.shape[-1] - 1
    counts = (compressed[..., 1:] - compressed[..., :-1]).reshape(-1)
    rows = ops.arange(number, device=plain.device).repeat(count(batch)).repeat_interleave(counts)
    columns = plain.reshape(-1)
    rows, columns = (rows, columns) if layout in BY_ROWS else (columns, rows)
    leading = ops.arange(count(batch), device=plain.device).repeat_interleave(plain.shape[-1])
    found = [*unflatten(leading, batch).unbind(0), rows, columns]
    if layout not in BLOCKED:
        return ops.stack(found)
    height, width = shape[len(batch) + 1:len(batch) + 3]
    *leading, rows, columns = (each.reshape(-1, 1, 1) for each in found)
    rows = rows * height + ops.arange(height, device=rows.device).reshape(1, -1, 1)
    columns = columns * width + ops.arange(width, device=rows.device)
    return ops.stack([each.expand(-1, height, width).reshape(-1) for each in (*leading, rows, columns)])


def coordinates(sparse):
    """(coordinates, values) of a sparse tensor of any layout; those of blocks are the elements'."""
    parts, values = sparse_storage(sparse), values_of(sparse)
    if parts.layout is sparse_coo:
        return parts.indices[0], values
    indices = positions(parts.layout, parts.indices, values.shape)
    inner = parts.indices[0].dim() + (2 if parts.layout in BLOCKED else 0)
    return indices, values.reshape(indices.shape[1], *values.shape[inner:])


def to_coo(sparse):
    """The tensor with coordinates. Those of rows come in order, so they are coalesced."""
    if sparse.layout is sparse_coo:
        return sparse
    indices, values = coordinates(sparse)
    made = make(sparse_coo, (indices,), values, sparse.shape, sparse.layout is sparse_csr)
    return coalesce(made)


def from_dense(dense, dims):
    """The coordinates of elements that are not 0, or of rows with such elements where only `dims` are sparse."""
    if not 0 <= dims <= dense.dim():
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{dense.dim()}] range, but {dims} is "
                           "given")
    if dims == 0 and dense.dim():
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    present = dense.detach() != 0
    if dims < dense.dim():
        present = present.reshape(*dense.shape[:dims], count(dense.shape[dims:])).any(-1)
    indices = present.nonzero().t().contiguous()
    return make(sparse_coo, (indices,), gather(dense, indices), dense.shape, True)


# --- compressed layouts -----------------------------------------------------------------------------------------------

def compress(rows, number):
    """Compressed indices of the rows, of which there are `number`: where the elements of each begin."""
    ones = ops.ones(tuple(rows.shape), dtype=rows.dtype, device=rows.device)
    return sum_at(ones, rows + 1, number + 1).cumsum(0)


def to_compressed(coo, layout):
    """A tensor with two sparse dimensions as CSR or CSC."""
    coo = coalesce(coo)
    indices, values = indices_of(coo)[0], values_of(coo)
    rows, columns = indices.unbind(0)
    if layout is sparse_csc:
        order = (columns * max(coo.shape[0], 1) + rows).argsort()
        rows, columns = columns.index_select(0, order), rows.index_select(0, order)
        values = values.index_select(0, order)
    return make(layout, (compress(rows, coo.shape[0 if layout is sparse_csr else 1]), columns.contiguous()), values,
                coo.shape)


def to_blocks(dense, blocksize, layout):
    """A dense matrix as BSR or BSC: its blocks are the values of a CSR or CSC tensor."""
    height, width = blocksize
    if height <= 0 or width <= 0:
        raise RuntimeError(f"dense_to_{str(layout).removeprefix('torch.')}: blocksize needs to be positive, but got "
                           f"[{height}, {width}]")
    rows, columns = dense.shape[0] // height, dense.shape[1] // width
    if rows * height != dense.shape[0] or columns * width != dense.shape[1]:
        raise RuntimeError(f"dense_to_{str(layout).removeprefix('torch.')}: tensor sparse size ({dense.shape[0]},"
                           f"{dense.shape[1]}) must be divisible by given blocksize ({height},{width})")
    blocks = dense.reshape(rows, height, columns, width, *dense.shape[2:]).transpose(1, 2)
    grid = to_compressed(from_dense(blocks, 2), sparse_csr if layout is sparse_bsr else sparse_csc)
    return make(layout, indices_of(grid), values_of(grid), dense.shape)


def to_layout(sparse, layout, blocksize=None):
    """A sparse tensor in another layout."""
    if sparse.layout is layout and blocksize in (None, blocksize_of(sparse)):
        return sparse
    if layout is sparse_coo:
        return to_coo(sparse)
    coo = to_coo(sparse)
    if sparse_dims(coo) != 2:
        raise RuntimeError(f"coo_to_sparse_{str(layout)[-3:]}: conversion from Sparse to {LAYOUT_NAMES[layout]} for "
                           "input tensors with sparse_dim()!=2 is not supported")
    made = to_blocks(to_dense(coo), blocksize, layout) if layout in BLOCKED else to_compressed(coo, layout)
    return with_index_dtype(made, int64 if sparse.layout is sparse_coo else indices_of(sparse)[0].dtype)


def with_index_dtype(sparse, dtype):
    """The compressed tensor with indices of that dtype."""
    return sparse if dtype is int64 else make(sparse.layout, tuple(each.to(dtype) for each in indices_of(sparse)),
                                              values_of(sparse), sparse.shape)
