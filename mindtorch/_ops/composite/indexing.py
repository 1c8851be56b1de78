"""Selecting and rearranging elements, written with index, views, cat and other operators. Device-neutral."""
from collections.abc import Sequence
from math import prod
from warnings import warn

from mindtorch._core import hooks
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.formats import contiguous_format
from mindtorch._core.grad_mode import no_grad
from mindtorch._core.tensor import indexing as _indexing
from mindtorch._core.tensor.dtype import int64
from mindtorch._core.tensor.factories import FUNCTIONS as _FACTORIES
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import expand_to_batch, run_for_each_sample, with_out, wrap_dim
from mindtorch._ops.composite.common import scalar_type as _name
from mindtorch._ops.composite.common import to_out as _to_out

_WHOLE = slice(None)


# --- along one dimension ---------------------------------------------------------------------------------------------

def _key_at(dim, index):
    """The key that has `index` at `dim`."""
    return (_WHOLE,) * dim + (index,)


@expand_to_batch
def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The slices of `source` reduced into those at `index` of `dim`."""
    copy = input.clone(memory_format=contiguous_format)
    return _to_out("index_reduce", index_reduce_(copy, dim, index, source, reduce, include_self=include_self), out)


def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """The slices of `source` reduced into those at `index` of `dim`, in place."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = wrap_dim(dim, self.dim())
    if index.dim() > 1:
        raise IndexError("index_reduce_(): Index is supposed to be a vector, but got dim: "
                           f"{index.dim()} with type: {_name(index.dtype)} and size: {list(index.shape)}")
    if _name(index.dtype) not in ("Long", "Int"):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {_name(index.dtype)}")
    if self.dtype is not source.dtype:
        raise RuntimeError(f"index_reduce_(): self ({_name(self.dtype)}) and source ({_name(source.dtype)}) must have "
                           "the same scalar type")
    if dim >= max(source.dim(), 1):
        raise RuntimeError(f"index_reduce_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
                           f"{source.dim()}")
    along = source.shape[dim] if source.dim() else 1
    if index.numel() != along:
        raise RuntimeError(f"index_reduce_(): Number of indices ({index.numel()}) should be equal to "
                           f"source.size(dim): ({along}), for dim: {dim}")
    mine, theirs = list(self.shape), list(source.shape)
    if len(mine) != len(theirs) or mine[:dim] + mine[dim + 1:] != theirs[:dim] + theirs[dim + 1:]:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {mine} source.shape = {theirs}")
    if self.dim() and not self.shape[dim] and index.numel() and not self.is_meta:
        raise IndexError("index out of range in self")
    positions = index.reshape([-1 if i == dim else 1 for i in range(source.dim())]).expand(source.shape)
    try:
        return self.scatter_reduce_(dim, positions, source, reduce, include_self=include_self)
    except RuntimeError as error:
        if hasattr(error, "out_of_bounds"):
            raise IndexError("index out of range in self") from None
        raise


def take_along_dim(input, indices, dim=None, *, out=None):
    """The elements at `indices` of `dim`, other dimensions broadcast; without `dim`, of the flattened tensor."""
    if dim is None:
        return _OPS["gather"](input.view(-1), 0, indices.view(-1), out=out)
    if _name(indices.dtype) != "Long":
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got "
                           f"{_name(indices.dtype)}")
    if input.dim() != indices.dim():
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.dim()} dimensions for input, and {indices.dim()} dimensions for indices")
    if not input.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, input.dim())
    indices = indices % input.shape[dim]         # torch takes an index beyond the end, too
    ones = tuple(1 if i == dim else size for i, size in enumerate(indices.shape))
    mine = tuple(1 if i == dim else size for i, size in enumerate(input.shape))
    shape = broadcast_shapes(ones, mine)
    return _OPS["gather"](
        input.expand([input.shape[i] if i == dim else size for i, size in enumerate(shape)]), dim,
        indices.expand([indices.shape[i] if i == dim else size for i, size in enumerate(shape)]), out=out)


@run_for_each_sample
def argwhere(input):
    """The indices of all elements that are not 0, one row for each. Waits for the device."""
    return _indexing.nonzero(input)


def unravel_index(indices, shape):
    """For each flat index in a tensor of `shape`, the index in every dimension."""
    if not isinstance(indices, TensorBase):
        raise TypeError(f"unravel_index(): argument 'indices' (position 1) must be Tensor, not "
                        f"{type(indices).__name__}")
    if indices.is_floating_point() or indices.is_complex() or _name(indices.dtype) == "Bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    strides = [prod(shape[dim + 1:]) for dim in range(len(shape))]
    return (indices.unsqueeze(-1) // indices.new_tensor(strides, dtype=int64)
            % indices.new_tensor(shape, dtype=int64)).unbind(-1)


# --- shapes that broadcast -------------------------------------------------------------------------------------------

def broadcast_shapes(*shapes):
    """The shape to which these shapes broadcast."""
    from mindtorch._core.tensor.tensor import Size
    for shape in shapes:
        if isinstance(shape, str):
            raise TypeError("'<' not supported between instances of 'str' and 'int'")
        if not isinstance(shape, (int, Sequence)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    made = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for position in range(-1, -1 - len(shape), -1):
            size = shape[position]
            if size in (1, made[position]):
                continue
            if made[position] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            if size < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            made[position] = size
    return Size(made)


def broadcast_tensors(*tensors):
    """The tensors, expanded to the shape to which they broadcast."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    made = ()
    for tensor in tensors:
        made = _merged(made, tuple(tensor.shape))
    return tuple(tensor.expand(made) for tensor in tensors)


def _merged(one, other):
    made = list(one if len(one) >= len(other) else other)
    for dim in range(-1, -1 - min(len(one), len(other)), -1):
        if one[dim] != other[dim] and 1 not in (one[dim], other[dim]):
            raise RuntimeError(f"The size of tensor a ({one[dim]}) must match the size of tensor b ({other[dim]}) "
                               f"at non-singleton dimension {len(made) + dim}")
        made[dim] = other[dim] if one[dim] == 1 else one[dim]
    return tuple(made)


# --- select_scatter and the like -------------------------------------------------------------------------------------

def _replaced(input, view_of, src):
    result = input.clone()
    part = view_of(result)
    if part.shape != src.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.shape)}, slice size = {list(part.shape)}")
    part.copy_(src)
    return result


@expand_to_batch
def select_scatter(input, src, dim, index):
    """The slice at `index` of `dim` replaced by `src`."""
    return _replaced(input, lambda result: result.select(dim, index), src)


@expand_to_batch
@with_out
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """The slices from `start` to `end` of `dim` replaced by `src`."""
    dim = wrap_dim(dim, input.dim())
    return _replaced(input, lambda result: result[_key_at(dim, slice(start, end, step))], src)


@expand_to_batch
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """The diagonal replaced by `src`."""
    return _replaced(input, lambda result: result.diagonal(offset, dim1, dim2), src)


@expand_to_batch
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """The elements of the strided view replaced by `src`."""
    return _replaced(input, lambda result: result.as_strided(size, stride, storage_offset or 0), src)


def _clamped(self, indices):
    """The index tensors, clamped to the sizes of `self`."""
    return [None if index is None else index.clamp(-size, size - 1)
            for index, size in zip(indices, self.shape, strict=False)]


def _unsafe_masked_index(self, mask, indices, fill):
    """The elements at `indices`; `fill` where `mask` is false, whatever the index is there."""
    found = self[tuple(slice(None) if index is None else index for index in _clamped(self, indices))]
    return found.masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    """`values` added at `indices` where `mask` is true."""
    return _indexing.index_put(self, tuple(_clamped(self, indices)), values.masked_fill(mask.logical_not(), 0), True)


# --- writes to expanded tensors --------------------------------------------------------------------------------------

def _expanded_write(chosen, example):
    """A function that writes where `chosen` finds elements, whose values and whether they are added up it returns."""
    @no_grad()                      # its caller records the write
    def write(name, memory, expanded, *args):
        warn(f"Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
             f"operation. This also applies to advanced indexing e.g. tensor[{example}", UserWarning, stacklevel=2)
        if memory.is_meta:
            return
        places = _FACTORIES["arange"](memory.numel(), device=memory.device).reshape(memory.shape)
        places, values, accumulate = chosen(places.expand(expanded.shape), *args)
        if not isinstance(values, TensorBase):
            values = memory.new_full((), values)
        memory.put_(places, values.to(memory).expand(places.shape), accumulate)
    return write


_masked = _expanded_write(lambda places, mask, value: (_indexing.masked_select(places, mask), value, False),
                          "mask] = scalar")
_filled = _expanded_write(lambda places, dim, index, value: (places[_key_at(wrap_dim(dim, places.dim()), index)], value,
                                                             False), "mask] = scalar")
_put = _expanded_write(lambda places, indices, values, accumulate: (
    places[tuple(_WHOLE if index is None else index for index in indices)], values, accumulate), "indices] = tensor")
hooks.expanded_writes |= {
    "masked_fill.Scalar": _masked, "masked_fill.Tensor": _masked, "index_fill.int_Scalar": _filled,
    "index_fill.int_Tensor": _filled, "index_put": _put}


FUNCTIONS = {f.__name__: f for f in (
    _unsafe_masked_index, _unsafe_masked_index_put_accumulate, index_reduce, take_along_dim, argwhere,
    unravel_index, broadcast_shapes, broadcast_tensors, select_scatter, slice_scatter, diagonal_scatter,
    as_strided_scatter)}
METHODS = {f.__name__: f for f in (
    index_reduce, index_reduce_, take_along_dim, argwhere, select_scatter, slice_scatter,
    diagonal_scatter, as_strided_scatter)}
