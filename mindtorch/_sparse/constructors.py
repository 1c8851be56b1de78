"""torch.sparse_coo_tensor and its like: conversion of the arguments, and the checks of what they say."""
from mindtorch import Tensor, as_tensor, int32, int64, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from mindtorch import device as _device
from mindtorch._core.formats import require_strided
from mindtorch._ops.operators import ops
from mindtorch._sparse.tensors import BLOCKED, BY_ROWS, COMPRESSED, LAYOUT_NAMES, flatten, make, to_layout

_checks = [False]           # whether constructors check the indices when the argument for that is None


class check_sparse_tensor_invariants:
    """Whether constructors of sparse tensors check that the indices are valid: a context, a decorator, or switches.

    Arguments:
        enable: whether they are checked

    Example:
        >>> with torch.sparse.check_sparse_tensor_invariants():
        ...     print(torch.sparse.check_sparse_tensor_invariants.is_enabled())
        True
    """

    def __init__(self, enable=True):
        self.state = enable
        self.saved_state = None

    @staticmethod
    def is_enabled():
        """Whether they check."""
        return _checks[0]

    @staticmethod
    def enable():
        """Have them check."""
        _checks[0] = True

    @staticmethod
    def disable():
        """Have them trust the indices."""
        _checks[0] = False

    def __enter__(self):
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager "
                               "instance for context nesting.")
        self.saved_state = _checks[0]
        _checks[0] = self.state

    def __exit__(self, *exception):
        _checks[0] = self.saved_state
        self.saved_state = None

    def __call__(self, function):
        def wrapped(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)
        return wrapped


def _checks_invariants(check_invariants):
    return _checks[0] if check_invariants is None else check_invariants


def _require(holds, condition):
    if not holds:
        raise RuntimeError(f"{condition}")


def _converted(indices, values, dtype, device, index_dtype=int64):
    values = values if isinstance(values, Tensor) else as_tensor(values, dtype=dtype)
    device = values.device if device is None else _device(device)
    values = values.to(device=device, dtype=dtype or values.dtype)
    return [(index if isinstance(index, Tensor) else as_tensor(index)).detach().to(
        device=device, dtype=index_dtype or index.dtype) for index in indices], values


def sparse_coo_tensor(*args, size=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None, is_coalesced=None, indices=None, values=None):
    """A COO tensor: `indices` has a column of coordinates for each of the `values`.

    Arguments:
        *args: indices (dimensions, n), values (n, ...) and, if not given by name, the shape; or the shape
        size: the shape; None finds the smallest
        dtype: the dtype; None means that of the values
        layout: torch.sparse_coo
        device: the device; None means that of the values
        pin_memory: not read
        requires_grad: whether autograd records operators on the result
        check_invariants: whether the indices are checked; None means as check_sparse_tensor_invariants says
        is_coalesced: whether no index occurs twice and they are in order; None means not known
        indices: the indices (dimensions, n)
        values: the values (n, ...)

    Example:
        >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    given = dict(zip(("indices", "values", "size"), args, strict=False))
    if len(args) == 1 and indices is None and values is None:          # torch.sparse_coo_tensor(size)
        given = {"size": args[0]}
    indices, values = given.get("indices", indices), given.get("values", values)
    size = given.get("size", size)
    if indices is None and values is None:
        size = tuple(size)
        indices, values = ops.zeros((len(size), 0), dtype=int64), ops.zeros((0,), dtype=dtype)
    (indices,), values = _converted([indices], values, dtype, device)
    made = coo(indices, values, size, bool(is_coalesced), _checks_invariants(check_invariants))
    return _with_history(made, requires_grad)


def _with_history(made, requires_grad):
    """The result of a constructor: a leaf, or, if the values have a history, a tensor that continues it."""
    if requires_grad and not made.requires_grad:
        made.requires_grad_()
    return made


def coo(indices, values, size, coalesced=False, check=False):
    """A COO tensor of tensors; without a size, the least that has the coordinates."""
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if values.dim() == 0:
        values = values.reshape(1)
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz "
                           f"from values: {values.shape[0]}")
    if size is None:
        size = _least_size(indices) + tuple(values.shape[1:])
    size, dims = tuple(size), indices.shape[0]
    if len(size) != dims + values.dim() - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
                           f"sparse_dim = {dims}, dense_dim = {values.dim() - 1}")
    if tuple(values.shape[1:]) != size[dims:]:
        raise RuntimeError(f"values has incorrect size, expected {[values.shape[0], *size[dims:]]}, got "
                           f"{list(values.shape)}")
    if check:
        check_coordinates(indices, size)
        places = flatten(indices, size[:dims])
        if coalesced and (places[1:] <= places[:-1]).any():
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return make(sparse_coo, (indices,), values, size, coalesced)


def _least_size(indices):
    if indices.shape[1] == 0:
        return (0,) * indices.shape[0]
    low = indices.min()
    if low.item() < 0:
        raise RuntimeError(f"found negative index {low.item()} for dim {indices.amin(1).argmin().item()}")
    return tuple(last + 1 for last in indices.amax(1).tolist()) if indices.shape[0] else ()


def check_coordinates(indices, size):
    """RuntimeError for a coordinate outside of the tensor."""
    if not indices.numel():
        return
    for dim, (low, high) in enumerate(zip(indices.amin(1).tolist(), indices.amax(1).tolist(), strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= size[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index "
                               f"{high}")


def _names(layout):
    return ("crow_indices", "col_indices") if layout in BY_ROWS else ("ccol_indices", "row_indices")


def compressed(layout, indices, values, size, check):
    """A tensor of a compressed layout of tensors; without a size, the least that has the indices."""
    blocks = 2 if layout in BLOCKED else 0
    batch = indices[0].dim() - 1
    if size is None:
        height, width = values.shape[batch + 1:batch + 3] if blocks else (1, 1)
        along = indices[0].shape[-1] - 1
        across = int(indices[1].max().item()) + 1 if indices[1].numel() else 0
        rows, columns = (along, across) if layout in BY_ROWS else (across, along)
        size = (*indices[0].shape[:-1], rows * height, columns * width, *values.shape[batch + 1 + blocks:])
    size = tuple(size)
    check_compressed(layout, indices, values, size, check)
    return make(layout, tuple(indices), values, size)


def check_compressed(layout, indices, values, size, check):
    """RuntimeError where shapes do not fit and, with `check`, where the indices are no tensor's."""
    (name, plain_name), (first, plain) = _names(layout), indices
    blocks, batch = 2 if layout in BLOCKED else 0, first.dim() - 1
    _require(first.dim() >= 1, f"{name} must have dimensionality >= 1 but got {first.dim()}")
    _require(plain.dim() == first.dim(), f"{name} and {plain_name} dimensionalities must be equal but got "
             f"{first.dim()} and {plain.dim()}, respectively")
    _require(values.dim() > batch + blocks, "values must have dimensionality > sum of batch and block dimensionalities "
             f"(={batch} + {blocks}) but got {values.dim()}")
    _require(len(size) == batch + 2 + values.dim() - batch - 1 - blocks,
             f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + "
             f"{values.dim() - batch - 1 - blocks}) but got {len(size)}")
    _require(plain.shape[-1] == values.shape[batch], f"number of specified elements in {plain_name} and values must be "
             f"equal but got {plain.shape[-1]} and {values.shape[batch] if values.dim() > batch else 0}, respectively")
    along = size[batch] if layout in BY_ROWS else size[batch + 1]
    across = size[batch + 1] if layout in BY_ROWS else size[batch]
    if blocks:
        height, width = values.shape[batch + 1:batch + 3]
        along //= height if layout in BY_ROWS else width
        across //= width if layout in BY_ROWS else height
    _require(first.shape[-1] == along + 1, f"{name}.shape[-1] must be equal to the number of "
             f"{'rows' if layout in BY_ROWS else 'columns'} + 1 (={along + 1}), but got {first.shape[-1]}")
    if first.dtype is not plain.dtype:
        raise RuntimeError(f"{name} and {plain_name} must have the same dtype, bot got {first.dtype} and "
                           f"{plain.dtype}, respectively")
    if check:
        check_indices(layout in BY_ROWS, first, plain, across)


def check_indices(by_rows, first, plain, across):
    """RuntimeError where compressed and plain indices are those of no tensor with `across` columns (or rows)."""
    (name, plain_name) = _names(sparse_csr if by_rows else sparse_csc)
    lines, width_name = ("nrows", "ncols") if by_rows else ("ncols", "nrows")
    _require(bool((first[..., 0] == 0).all()), f"`{name}[..., 0] == 0` is not satisfied.")
    _require(bool((first[..., -1] == plain.shape[-1]).all()), f"`{name}[..., -1] == nnz` is not satisfied.")
    steps = first[..., 1:] - first[..., :-1]
    _require(bool(((steps >= 0) & (steps <= across)).all()),
             f"`0 <= {name}[..., 1:] - {name}[..., :-1] <= {width_name}` is not satisfied.")
    _require(bool(((plain >= 0) & (plain < across)).all()), f"`0 <= {plain_name} < {width_name}` is not satisfied.")
    _check_order(first, plain, plain_name, name, lines)


def _check_order(first, plain, plain_name, name, lines):
    rows = ops.arange(first.shape[-1] - 1, device=plain.device)
    for starts, line in zip(first.flatten(0, -2) if first.dim() > 1 else [first],
                            plain.flatten(0, -2) if plain.dim() > 1 else [plain], strict=True):
        row = rows.repeat_interleave((starts[1:] - starts[:-1]).long())
        rising = (line[1:] > line[:-1]) | (row[1:] != row[:-1])
        _require(bool(rising.all()), f"`{plain_name}[..., {name}[..., i - 1]:{name}[..., i]] for all i = 1, ..., "
                 f"{lines} are sorted and distinct along the last dimension values` is not satisfied.")


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None,
                             device=None, pin_memory=False, requires_grad=False, check_invariants=None):
    """A tensor of the compressed layout that is given.

    Arguments:
        compressed_indices: where each row (or column) begins among the values
        plain_indices: the column (or row) of each value
        values: the values, or blocks of them
        size: the shape; None finds the smallest
        dtype: the dtype; None means that of the values
        layout: torch.sparse_csr, sparse_csc, sparse_bsr or sparse_bsc
        device: the device; None means that of the values
        pin_memory: not read
        requires_grad: whether autograd records operators on the result
        check_invariants: whether the indices are checked; None means as check_sparse_tensor_invariants says

    Example:
        >>> values = torch.tensor([3.0, 4.0])
        >>> torch.sparse_compressed_tensor([0, 1, 2], [2, 0], values, (2, 3), layout=torch.sparse_csr).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if layout not in COMPRESSED:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got "
                           f"{LAYOUT_NAMES.get(layout, layout)}")
    kinds = {index.dtype for index in (compressed_indices, plain_indices) if isinstance(index, Tensor)}
    index_dtype = None if kinds and kinds <= {int32, int64} and len(kinds) == 1 else int64
    if index_dtype is None:
        index_dtype, = kinds
    elif any(kind not in (int32, int64) for kind in kinds):
        raise RuntimeError(f"{_names(layout)[0]} and {_names(layout)[1]} must be an int32 or int64 type, but got: "
                           f"{next(iter(kinds))}")
    indices, values = _converted([compressed_indices, plain_indices], values, dtype, device, index_dtype)
    made = compressed(layout, indices, values, size, _checks_invariants(check_invariants))
    return _with_history(made, requires_grad)


def _of_layout(layout, names, example):
    def construct(first, second, values, size=None, *, dtype=None, layout=layout, device=None, pin_memory=False,
                  requires_grad=False, check_invariants=None):
        return sparse_compressed_tensor(
            first, second, values, size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory,
            requires_grad=requires_grad, check_invariants=check_invariants)

    def function(*args, **kwargs):
        args = [*args, *(kwargs.pop(name) for name in names[len(args):] if name in kwargs)]
        return construct(*args, **kwargs)
    function.__name__ = function.__qualname__ = f"{str(layout).removeprefix('torch.')}_tensor"
    function.__doc__ = f"A tensor of layout {layout}, of its {names[0]}, {names[1]} and values.\n\n" \
                       f"Arguments:\n    *args: {names[0]}, {names[1]}, values and, if not given by name, the shape\n" \
                       f"    **kwargs: as of sparse_compressed_tensor, but for layout\n\n{example}"
    return function


_ROWS, _COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
sparse_csr_tensor = _of_layout(sparse_csr, _ROWS, """Example:
    >>> torch.sparse_csr_tensor([0, 1, 2], [2, 0], torch.tensor([3.0, 4.0]), (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
""")
sparse_csc_tensor = _of_layout(sparse_csc, _COLUMNS, """Example:
    >>> torch.sparse_csc_tensor([0, 1, 1, 2], [1, 0], torch.tensor([4.0, 3.0]), (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
""")
sparse_bsr_tensor = _of_layout(sparse_bsr, _ROWS, """Example:
    >>> torch.sparse_bsr_tensor([0, 1, 1], [1], torch.tensor([[[1.0, 2.0]]]), (2, 4)).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 0., 0.]])
""")
sparse_bsc_tensor = _of_layout(sparse_bsc, _COLUMNS, """Example:
    >>> torch.sparse_bsc_tensor([0, 0, 1], [0], torch.tensor([[[1.0, 2.0]]]), (2, 4)).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 0., 0.]])
""")


def _validate_sparse_coo_tensor_args(indices, values, size, is_coalesced=None, check_pinning=None):
    """RuntimeError where sparse_coo_tensor of these arguments would be no valid tensor."""
    coo(indices, values, size, bool(is_coalesced), check=True)


def _validate_sparse_compressed_tensor_args(compressed_indices, plain_indices, values, size, layout,
                                            check_pinning=None):
    """RuntimeError where sparse_compressed_tensor of these arguments would be no valid tensor."""
    with check_sparse_tensor_invariants():
        sparse_compressed_tensor(compressed_indices, plain_indices, values, size, layout=layout)


def _validation_of(layout):
    def validate(compressed_indices, plain_indices, values, size, check_pinning=None):
        _validate_sparse_compressed_tensor_args(compressed_indices, plain_indices, values, size, layout)
    validate.__name__ = validate.__qualname__ = f"_validate_{str(layout).removeprefix('torch.')}_tensor_args"
    return validate


_validate_sparse_csr_tensor_args = _validation_of(sparse_csr)
_validate_sparse_csc_tensor_args = _validation_of(sparse_csc)
_validate_sparse_bsr_tensor_args = _validation_of(sparse_bsr)
_validate_sparse_bsc_tensor_args = _validation_of(sparse_bsc)


def _validate_compressed_sparse_indices(is_crow, compressed_idx, plain_idx, cdim, dim, nnz):
    """RuntimeError where the indices are those of no tensor of `cdim` rows (or columns), `dim` columns, `nnz` elements.
    """
    check_indices(is_crow, compressed_idx, plain_idx, dim)


def with_dims(nnz, dense_dim, size, blocksize, index_dtype, *, dtype=None, layout=None, device=None, pin_memory=False):
    """A compressed tensor with room for `nnz` elements per matrix, or blocks of them; indices and values are zeros."""
    size = tuple(size)
    if layout not in COMPRESSED or (layout in BLOCKED) != (len(blocksize) == 2):
        raise RuntimeError(f"sparse_compressed_tensor_with_dims: blocksize {list(blocksize)} is none of a tensor of "
                           f"layout {layout}")
    batch, dense = size[:len(size) - dense_dim - 2], size[len(size) - dense_dim:]
    rows, columns = (each // step for each, step in zip(size[len(batch):], blocksize or (1, 1), strict=False))
    indices = [ops.zeros((*batch, length), dtype=index_dtype, device=device)
               for length in ((rows if layout in BY_ROWS else columns) + 1, nnz)]
    values = ops.zeros((*batch, nnz, *blocksize, *dense), dtype=dtype, device=device)
    return make(layout, tuple(indices), values, size)


def empty(size, layout, dtype=None, device=None):
    """A sparse tensor without elements. NotImplementedError for other layouts."""
    if layout is not sparse_coo and layout not in COMPRESSED:
        require_strided(layout, "empty")
    size = tuple(size)
    if layout is sparse_coo:
        return make(layout, (ops.zeros((len(size), 0), dtype=int64, device=device),),
                    ops.zeros((0,), dtype=dtype, device=device), size, False)
    if len(size) < 2:
        raise RuntimeError("torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got "
                           f"size {list(size)}")
    if layout in BLOCKED:
        raise RuntimeError("empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                           f"{LAYOUT_NAMES[layout]}")
    along = size[-2] if layout in BY_ROWS else size[-1]
    indices = (ops.zeros((*size[:-2], along + 1), dtype=int64, device=device),
               ops.zeros((*size[:-2], 0), dtype=int64, device=device))
    return make(layout, indices, ops.zeros((*size[:-2], 0), dtype=dtype, device=device), size)


def spdiags(diagonals, offsets, shape, layout=None):
    """A matrix with these rows as its diagonals.

    Arguments:
        diagonals: a row of elements for each diagonal
        offsets: which diagonal each is: 0 the main one, positive above it
        shape: the shape of the result
        layout: the layout of the result; None means torch.sparse_coo

    Example:
        >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0]]), torch.tensor([0]), (2, 2)).to_dense()
        tensor([[1., 0.],
                [0., 2.]])
    """
    if offsets.dim() == 0:
        offsets = offsets.reshape(1)
    if diagonals.dim() == 1:
        diagonals = diagonals.reshape(1, -1)
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d. Got {list(shape)}")
    if offsets.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.shape[0] != diagonals.shape[0]:
        raise RuntimeError("Number of diagonals does not match the number of offsets")
    if len(set(offsets.tolist())) != offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    columns = ops.arange(diagonals.shape[1], device=diagonals.device).expand(diagonals.shape)
    rows = columns - offsets.to(diagonals.device).reshape(-1, 1)
    inside = ((rows >= 0) & (rows < shape[0]) & (columns < shape[1])).reshape(-1).nonzero().reshape(-1)
    indices = ops.stack([rows.reshape(-1), columns.reshape(-1)]).index_select(1, inside)
    made = coo(indices, diagonals.reshape(-1).index_select(0, inside), shape)
    if layout is None or layout is sparse_coo:
        return made
    return to_layout(made, layout)

