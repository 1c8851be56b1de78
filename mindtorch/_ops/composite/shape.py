"""Repeating, turning, splitting and joining tensors, written with views, index and cat. Device-neutral."""
import builtins
import functools
import sys

import numpy

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.formats import channels_last, channels_last_3d, contiguous_format, preserve_format, require_strided
from mindtorch._core.python.conversion import from_numpy
from mindtorch._core.rules.infer import resize_output
from mindtorch._core.tensor import copy_cast as _copy_cast
from mindtorch._core.tensor import views as _views
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.dtype import _promote_types as promote_types
from mindtorch._core.tensor.dtype import int32, int64
from mindtorch._core.tensor.factories import arange, empty
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import (
    _require_tensors,
    check_int64,
    expand_to_batch,
    require_list,
    require_tuple,
    run_for_each_sample,
    scalar_type,
    to_dtype,
    with_names,
    wrap_dim,
)
from mindtorch._ops.composite.indexing import _to_out

_VIEWS = _views.FUNCTIONS
_WHOLE = builtins.slice(None)


def _arange(*numbers, like):
    return arange(*numbers, device=like.device)


def _sizes(values):
    """Ints from *args: (2, 3) or ((2, 3),)."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else tuple(values)


# --- repeating -------------------------------------------------------------------------------------------------------

def tile(input, *dims):
    """As repeat, but `dims` may be shorter than the shape."""
    dims = _sizes(dims)
    return input.repeat((1,) * (input.dim() - len(dims)) + tuple(dims))


def check_dims_once(dims):
    """RuntimeError where one of the dimensions, counted from 0, is named twice."""
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"dim {max(dims, key=dims.count)} appears multiple times in the list of dims")


# --- flipping and rotating -------------------------------------------------------------------------------------------

def fliplr(input):
    """The columns in reverse order."""
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


def flipud(input):
    """The rows in reverse order."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


def rot90(input, k=1, dims=(0, 1)):
    """A quarter turn, `k` times, in the plane of `dims`."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = (wrap_dim(dim, input.dim()) for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    match k % 4:
        case 1:
            return drop_base(input.flip(second).transpose(first, second))
        case 2:
            return input.flip(first, second)
        case 3:
            return drop_base(input.flip(first).transpose(first, second))
    return input.clone()


# --- triangles and diagonals -----------------------------------------------------------------------------------------

def _triangle(name, row, col, offset, upper, dtype, layout, device, pin_memory):
    """Rows and columns of the elements of a row x col matrix with c - r >= offset if `upper`, else c - r <= offset."""
    if layout is not None:
        require_strided(layout, name)
    dtype = to_dtype(dtype)
    if dtype not in (None, int32, int64):
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type(dtype)}'")
    check_int64(row, col, offset)
    for words, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{words} must be non-negative, got{size}")
    offset = max(min(offset, col), -row)
    below = _count_below(row, col, offset - upper)
    result = empty((2, min(row * col - below if upper else below, 2 ** 63 - 1)), dtype=dtype or int64, device=device,
                   pin_memory=pin_memory)           # RuntimeError for too many
    first, last = (0, min(row, col - offset)) if upper else (-min(offset, 0), row if col else 0)
    rows = numpy.arange(first, last)
    begin = numpy.maximum(rows + offset, 0) if upper else numpy.zeros_like(rows)
    lengths = (col if upper else numpy.minimum(rows + offset + 1, col)) - begin
    column = numpy.arange(result.shape[1]) - numpy.repeat(lengths.cumsum() - lengths - begin, lengths)
    return result.copy_(from_numpy(numpy.stack([numpy.repeat(rows, lengths), column])))


def _count_below(row, col, offset):
    """How many elements of a row x col matrix have c - r <= offset."""
    rows = row - min(max(-offset - 1, 0), row)      # the last ones, of which the first has 0 or more elements
    shortest = min(max(offset + 1, 0), col)
    growing = min(rows, col - shortest)             # each of these rows has an element more than the one before
    return growing * shortest + growing * (growing - 1) // 2 + (rows - growing) * col


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
    """Rows and columns of the elements on the diagonal and below it."""
    made = _triangle("tril_indices", row, col, offset, False, dtype, layout, device, pin_memory)
    return made.requires_grad_(requires_grad)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False):
    """Rows and columns of the elements on the diagonal and above it."""
    made = _triangle("triu_indices", row, col, offset, True, dtype, layout, device, pin_memory)
    return made.requires_grad_(requires_grad)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension on their diagonals."""
    count = input.dim() + 1
    first, second = wrap_dim(dim1, count), wrap_dim(dim2, count)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, size)
    result = input.new_zeros(shape)
    result.diagonal(offset, first, second).copy_(input)
    return result


def diag(input, diagonal=0, *, out=None):
    """The diagonal of a matrix, or a matrix with the vector on its diagonal."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    found = diag_embed(input, diagonal) if input.dim() == 1 else input.diagonal(diagonal).clone()
    return _to_out("diag", found, out)


def diagflat(input, offset=0):
    """A matrix with all elements on its diagonal."""
    return diag_embed(input.reshape(-1), offset)


@expand_to_batch
def block_diag(*tensors):
    """A matrix with the matrices along its diagonal."""
    require_list(tensors)
    if not tensors:
        return empty(1, 0)
    for place, tensor in enumerate(tensors):
        if tensor.device != tensors[0].device:
            raise RuntimeError("torch.block_diag: input tensors must all be on the same device. Input 0 is on device "
                               f"{tensors[0].device} and input {place} is on device {tensor.device}.")
    blocks = [tensor.reshape(1, -1) if tensor.dim() < 2 else tensor for tensor in tensors]
    for number, block in enumerate(blocks):
        if block.dim() > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{number} has {block.dim()} dimensions")
    dtype = functools.reduce(promote_types, (block.dtype for block in blocks))
    result = blocks[0].new_zeros([sum(block.shape[dim] for block in blocks) for dim in (0, 1)], dtype=dtype)
    top = left = 0
    for block in blocks:
        result.narrow(0, top, block.shape[0]).narrow(1, left, block.shape[1]).copy_(block)
        top, left = top + block.shape[0], left + block.shape[1]
    return result


# --- grids -----------------------------------------------------------------------------------------------------------

def meshgrid(*tensors, indexing=None):
    """The coordinates of the grid that the vectors span, one tensor a vector."""
    if indexing is not None and not isinstance(indexing, (str, bytes)):
        raise TypeError(f"meshgrid(): argument 'indexing' must be str, not {type(indexing).__name__}")
    indexing = "ij" if indexing is None else indexing if isinstance(indexing, str) else indexing.decode()
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if any(tensor.dtype is not tensors[0].dtype for tensor in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(tensor.device != tensors[0].device for tensor in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if any(tensor.dim() > 1 for tensor in tensors):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got more dimensions")
    swap = indexing == "xy" and len(tensors) > 1
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = [tensor.numel() for tensor in ordered]
    grids = [tensor.reshape([-1 if position == at else 1 for position in range(len(shape))]).expand(shape)
             for at, tensor in enumerate(ordered)]
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


# --- joining and splitting -------------------------------------------------------------------------------------------

def _each(function):
    def of_tensors(*tensors):
        tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
        for tensor in tensors:
            _require_tensors(function.__name__, input=tensor)
        found = tuple(function(tensor) for tensor in tensors)
        return found[0] if len(found) == 1 and isinstance(tensors, tuple) else found
    of_tensors.__name__, of_tensors.__doc__ = function.__name__, function.__doc__
    return of_tensors


@_each
def atleast_1d(tensor):
    """The tensor with one dimension at least."""
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


@_each
def atleast_2d(tensor):
    """The tensor with two dimensions at least; new ones come first."""
    return tensor.reshape(1, 1) if tensor.dim() == 0 else tensor.unsqueeze(0) if tensor.dim() == 1 else tensor


@_each
def atleast_3d(tensor):
    """The tensor with three dimensions at least; a vector becomes the middle one."""
    if tensor.dim() == 0:
        return tensor.reshape(1, 1, 1)
    if tensor.dim() == 1:
        return tensor.unsqueeze(0).unsqueeze(-1)
    return tensor.unsqueeze(-1) if tensor.dim() == 2 else tensor


def _joined(tensors, name):
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
                        f"{type(tensors).__name__}")
    if not tensors:
        raise RuntimeError(f"{name.replace('row_', 'v')} expects a non-empty TensorList")
    require_list(tensors)
    return list(tensors)


def hstack(tensors, *, out=None):
    """The tensors joined along the second dimension, vectors along their only one."""
    tensors = [atleast_1d(tensor) for tensor in _joined(tensors, "hstack")]
    return _OPS["cat"](tensors, 0 if tensors[0].dim() == 1 else 1, out=out)


def _stacked_rows(name):
    def stack(tensors, *, out=None):
        """The tensors joined along the first dimension."""
        return _OPS["cat"]([atleast_2d(tensor) for tensor in _joined(tensors, name)], 0, out=out)
    stack.__name__ = stack.__qualname__ = name
    return stack


vstack, row_stack = _stacked_rows("vstack"), _stacked_rows("row_stack")


def dstack(tensors, *, out=None):
    """The tensors joined along the third dimension."""
    return _OPS["cat"]([atleast_3d(tensor) for tensor in _joined(tensors, "dstack")], 2, out=out)


def column_stack(tensors, *, out=None):
    """The tensors joined along the second dimension, vectors as columns."""
    columns = [tensor.reshape(-1, 1) if tensor.dim() < 2 else tensor for tensor in _joined(tensors, "column_stack")]
    return _OPS["cat"](columns, 1, out=out)


def _require_memory(nbytes):
    """RuntimeError, before a long loop, for more bytes than any machine has."""
    try:
        numpy.empty(nbytes, numpy.uint8)
    except (MemoryError, ValueError):
        raise RuntimeError(f"not enough memory: {nbytes} bytes are needed") from None


_named_parts = with_names(**dict.fromkeys(("sections", "indices", "tensor_indices_or_sections"), "indices_or_sections"))


@_named_parts
def tensor_split(input, indices_or_sections, dim=0):
    """Parts of about equal size, as many as given, or those between the indices."""
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input.dim())
    size = input.shape[dim]
    if isinstance(indices_or_sections, TensorBase):
        if indices_or_sections.is_meta:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be on cpu, but it's on meta")
        if indices_or_sections.dtype is not int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{scalar_type(indices_or_sections.dtype)}")
        if indices_or_sections.dim() > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                               f"one-dimensional tensor, but got a tensor with {indices_or_sections.dim()} dims")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        _require_memory(count * sys.getsizeof(input))
        least, more = divmod(size, count)
        ends = [least * part + min(part, more) for part in range(1, count)]
    else:
        ends = list(indices_or_sections)
    key = (_WHOLE,) * dim
    bounds = zip([0, *ends], [*ends, size], strict=True)
    return tuple(input[(*key, builtins.slice(start, end))] for start, end in bounds)


def _no_views(parts):
    """Parts that are no views for autograd: a write to one counts neither for the others nor for the tensor."""
    return tuple(drop_base(part, shares_memory=True) for part in parts)


def unsafe_split(input, split_size, dim=0):
    """torch.split into parts of one size, which are no views for autograd."""
    return _no_views(_VIEWS["split"](input, split_size, dim))


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """torch.split into parts of the sizes given, which are no views for autograd."""
    return _no_views(_VIEWS["split_with_sizes"](input, split_sizes, dim))


def unsafe_chunk(input, chunks, dim=0):
    """torch.chunk, whose parts are no views for autograd."""
    return _no_views(_VIEWS["chunk"](input, chunks, dim))


def _split_along(name, least, dim_of):
    @_named_parts
    def split(input, indices_or_sections):
        if input.dim() < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                               f"{input.dim()} dimensions!")
        dim = dim_of(input)
        if isinstance(indices_or_sections, int) and (
                indices_or_sections <= 0 or input.shape[dim] % indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                               f"{input.shape[dim]} is not divisible by the split_size {indices_or_sections}!")
        return tensor_split(input, indices_or_sections, dim)

    def method(self, *parts, **options):
        return split(self, *((_sizes(parts),) if len(parts) > 1 else parts), **options)
    for function in (split, split.__wrapped__, method):
        function.__name__, function.__doc__ = name, "Parts along one dimension, of equal size or between the indices."
    return split, method


hsplit, _hsplit_method = _split_along("hsplit", 1, lambda input: 0 if input.dim() == 1 else 1)
vsplit, _vsplit_method = _split_along("vsplit", 2, lambda input: 0)
dsplit, _dsplit_method = _split_along("dsplit", 3, lambda input: 2)


def _check_chunks(tensors, dim, num_chunks):
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if any(tensor.numel() == 0 for tensor in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if dim < 0 and len({tensor.dim() for tensor in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    if dim >= 0 and any(dim >= tensor.dim() for tensor in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    if len({tuple(tensor.shape[:dim]) for tensor in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")


def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """Each tensor as so many chunks, padded to equal size and flattened; the chunks of all tensors are joined."""
    _check_chunks(tensors, dim, num_chunks)
    dim = wrap_dim(dim, tensors[0].dim())
    rows = []
    for tensor in tensors:
        length = -(-tensor.shape[dim] // num_chunks) * num_chunks
        missing = [length - size if position == dim else size for position, size in enumerate(tensor.shape)]
        padded = _OPS["cat"]([tensor, tensor.new_zeros(missing)], dim)
        rows.append(padded.reshape((*tensor.shape[:dim], num_chunks, -1)))
    return _to_out("_chunk_cat", _OPS["cat"](rows, -1), out)


def _foreach_clone(self, *, memory_format=None):
    """A clone of each tensor of a list."""
    if not isinstance(self, (list, tuple)):
        raise TypeError("_foreach_clone(): argument 'self' (position 1) must be tuple of Tensors, not "
                        f"{type(self).__name__}")
    if not self:
        raise RuntimeError("Tensor list must have at least one tensor.")
    require_list(self)
    return tuple(tensor.clone(memory_format=memory_format) for tensor in self)


# --- copies of views -------------------------------------------------------------------------------------------------

def _copy_of(name, view):
    def copy(input, *args, out=None, **options):
        if out is not None and name.startswith(("split", "unbind")):
            require_tuple(name, out)
        found = view(input, *args, **options)
        if isinstance(found, (tuple, list)):
            if out is not None and len(out) != len(found):
                raise RuntimeError(f"{name} expected an out= argument of size {len(found)}, got size {len(out)}")
            return tuple(part.clone() for part in found) if out is None else [
                _to_out(name, part, one) for part, one in zip(found, out, strict=True)]
        return _to_out(name, found.clone(memory_format=contiguous_format), out)
    copy.__name__, copy.__doc__ = name, f"A copy of what {name.removesuffix('_copy')} shows."
    return copy


def alias(input):
    """A view of the whole tensor."""
    return input.view(input.shape)


def slice(input, dim=0, start=None, end=None, step=1):
    """The slices from `start` to `end` of `dim`."""
    return input[(_WHOLE,) * wrap_dim(dim, input.dim()) + (builtins.slice(start, end, step),)]


def _view(input, *sizes, **named):      # size= or dtype=
    return input.view(*sizes, *named.values())


def _expand(input, *sizes, implicit=False, **named):
    return input.expand(*sizes, **named)


_OF_VIEWS = {"alias": alias, "slice": slice, "view": _view, "expand": _expand,
             "split": lambda input, split_size, dim=0: _VIEWS["split"](input, split_size, dim),
             "unfold": lambda input, *args, **options: input.unfold(*args, **options),
             **{name: _VIEWS[name] for name in (
                 "diagonal", "permute", "t", "transpose", "squeeze", "unsqueeze", "unbind", "split_with_sizes",
                 "narrow", "select", "as_strided", "view_as_real", "view_as_complex")},
             "detach": _copy_cast.FUNCTIONS["detach"]}
_COPIES = {f"{name}_copy": _copy_of(f"{name}_copy", view) for name, view in _OF_VIEWS.items()}


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Undefined content with the strides given."""
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
                           f"({len(stride)})")
    reach = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    made = empty((reach,), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return made.as_strided(size, stride).detach().requires_grad_(requires_grad)


@run_for_each_sample
def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False,
                      pin_memory=False):
    """`torch.empty_strided` with this tensor's dtype and device."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, layout=layout, device=device or self.device,
                         requires_grad=requires_grad, pin_memory=pin_memory)


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False,
                   pin_memory=False):
    """Undefined content, dense, with the dimensions in the order given, the largest stride first."""
    count = len(size)
    if count != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {count} is not equal to len(physical_layout) = {len(physical_layout)}")
    for i, dim in enumerate(physical_layout):
        if not 0 <= dim < count:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {count - 1}, but got {dim} at index {i}).")
    if len(set(physical_layout)) < count:
        raise RuntimeError("Duplicate dim not allowed")
    stride, step = [0] * count, 1
    for dim in reversed(physical_layout):
        stride[dim] = step
        step *= size[dim]
    return empty_strided(tuple(size), stride, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
                         pin_memory=pin_memory)


def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Ones on the diagonal of a matrix of zeros."""
    m = n if m is None else m
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    made = empty((n, m), dtype=dtype or (out.dtype if out is not None else None), layout=layout,
                 device=device or (out.device if out is not None else None), pin_memory=pin_memory)
    _ATEN["_eye_"](made)
    if out is not None:
        resize_output(out, made, False)         # no factory warns of that
    made = _to_out("eye", made, out)
    return made.requires_grad_() if requires_grad else made


def resize_as_(input, the_template, *, memory_format=None):
    """The tensor resized to the shape of another; preserve_format takes over its channels_last too."""
    if memory_format is preserve_format:
        memory_format = next((each for each in (channels_last, channels_last_3d)
                              if the_template.dim() == (4 if each is channels_last else 5)
                              and the_template.is_contiguous(memory_format=each)), None)
    return input.resize_(the_template.shape, memory_format=memory_format)


def fill(input, value):
    """A tensor like this one with `value` everywhere."""
    return input.clone().fill_(value)


def fill_diagonal_(self, fill_value, wrap=False):
    """The main diagonal filled, in place; with `wrap`, that of a tall matrix begins anew below each square."""
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    shape = self.shape
    if self.dim() > 2 and any(size != shape[0] for size in shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    starts = range(0, max(shape[0], 1), shape[1] + 1) if wrap and self.dim() == 2 else (0,)
    for start in starts:
        offset = self.storage_offset() + start * self.stride(0)
        self.as_strided((min(shape[0] - start, *shape[1:]),), (step,), offset).fill_(fill_value)
    return self


def swapaxes(input, axis0, axis1):
    """NumPy's name for transpose."""
    return _VIEWS["transpose"](input, axis0, axis1)


def swapdims(input, dim0, dim1):
    """Another name for transpose."""
    return _VIEWS["transpose"](input, dim0, dim1)


def swapaxes_(self, axis0, axis1):
    """swapaxes, in place."""
    return self.transpose_(axis0, axis1)


def swapdims_(self, dim0, dim1):
    """swapdims, in place."""
    return self.transpose_(dim0, dim1)


def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    _require_tensors("is_same_size", input=input, other=other)
    return input.shape == other.shape


def moveaxis(input, source, destination):
    """movedim under NumPy's name."""
    return _VIEWS["movedim"](input, source, destination)


def broadcast_to(self, *args, **kwargs):
    """Expanded to the sizes given, one by one or as a list."""
    return _VIEWS["broadcast_to"](self, *([_sizes(args)] if args and not kwargs else args), **kwargs)


FUNCTIONS = {f.__name__: f for f in (
    moveaxis, swapaxes, swapdims, is_same_size, tile, fliplr, flipud, rot90, tril_indices, triu_indices, diag_embed,
    diag, diagflat, block_diag, meshgrid, atleast_1d, atleast_2d, atleast_3d, hstack, vstack, dstack, column_stack,
    tensor_split, hsplit, vsplit, dsplit, unsafe_split, unsafe_split_with_sizes, unsafe_chunk, _chunk_cat,
    _foreach_clone, fill, empty_strided, empty_permuted, eye, resize_as_)}
FUNCTIONS.update(_COPIES, row_stack=row_stack)
METHODS = {f.__name__: f for f in (
    moveaxis, swapaxes, swapdims, swapaxes_, swapdims_, is_same_size, broadcast_to, tile, fliplr, flipud, rot90,
    diag_embed, diag, diagflat, tensor_split, unsafe_split, unsafe_split_with_sizes, unsafe_chunk, new_empty_strided,
    resize_as_, fill_diagonal_)}
METHODS.update(hsplit=_hsplit_method, vsplit=_vsplit_method, dsplit=_dsplit_method, narrow_copy=_COPIES["narrow_copy"])
