"""Reaching and rearranging elements, written with index, views, cat and other operators. Device-neutral."""
from mindtorch._core import advanced_indexing as _indexing
from mindtorch._core.autocast import casting
from mindtorch._core.tensor import TensorBase
from mindtorch._ops.composite import scalar_type as _name
from mindtorch._ops.composite import to_out as _to_out

_WHOLE = slice(None)


def _wrapped(dim, ndim):
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


# --- along one dimension ---------------------------------------------------------------------------------------------

def _along(dim, index):
    """The key that has `index` at `dim`."""
    return (_WHOLE,) * dim + (index,)


@casting("index_copy")
def index_copy(input, dim, index, source, *, out=None):
    """The slices at `index` of `dim` replaced by those of `source`."""
    return _to_out(_index_copy(input.clone(), dim, index, source), out)


def index_copy_(self, dim, index, source):
    """The slices at `index` of `dim` replaced by those of `source`, in place."""
    return _index_copy(self, dim, index, source)


def _index_copy(self, dim, index, source):
    dim = _wrapped(dim, self.dim())
    if index.dim() >= 2:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    if source.dim() == 0 and index.numel() != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})")
    if source.dim() != self.dim() and source.dim() and self.dim():
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.dim()}), destination dimensionality ({self.dim()})")
    if _name(index.dtype) != "Long":
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {_name(index.dtype)}")
    if self.dtype is not source.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{_name(self.dtype)} and (source) {_name(source.dtype)}")
    mine, theirs = list(self.shape), list(source.shape)
    if source.dim() and index.numel() != theirs[dim]:
        raise IndexError(f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) "
                         f"({theirs[dim]})")
    if mine[:dim] + mine[dim + 1:] != theirs[:dim] + theirs[dim + 1:]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine[:dim] + mine[dim + 1:]))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, theirs[:dim] + theirs[dim + 1:]))} at dimension 0.")
    target = self.unsqueeze(0) if self.dim() == 0 else self
    shape = (*target.shape[:dim], index.numel(), *target.shape[dim + 1:])
    target.index_put_(_indices(dim, index.reshape(-1)), source.reshape(shape))
    return self


def _indices(dim, index):
    return (None,) * dim + (index,)


def index_fill(input, dim, index, value):
    """The slices at `index` of `dim` filled with `value`."""
    return index_fill_(input.clone(), dim, index, value)


def index_fill_(self, dim, index, value):
    """The slices at `index` of `dim` filled with `value`, in place."""
    dim = _wrapped(dim, self.dim())
    if _name(index.dtype) != "Long":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, TensorBase):
        if value.dim():
            raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.dim()} dimension(s).")
        return _fill_slices(self, dim, index, value.to(device=self.device, dtype=self.dtype))
    if isinstance(value, complex) and not self.is_complex():
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    target = self.unsqueeze(0) if self.dim() == 0 else self
    target.index_put_(_indices(dim, index.reshape(-1)), self.new_full((), value))
    return self


def _fill_slices(self, dim, index, value):
    """By a mask: a slice that `index` names twice counts once in the value's gradient."""
    target = self.unsqueeze(0) if self.dim() == 0 else self
    chosen = index.new_zeros(target.shape[dim]).index_put_((index.reshape(-1),), index.new_full((), 1)) != 0
    target.masked_fill_(chosen.reshape((-1,) + (1,) * (target.dim() - dim - 1)), value)
    return self


def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """The slices of `source` reduced into those at `index` of `dim`."""
    return _to_out(index_reduce_(input.clone(), dim, index, source, reduce, include_self=include_self), out)


def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """The slices of `source` reduced into those at `index` of `dim`, in place."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = _wrapped(dim, self.dim())
    if index.dim() > 1:
        raise RuntimeError("index_reduce_(): Index is supposed to be a vector, but got dim: "
                           f"{index.dim()} with type: {_name(index.dtype)} and size: {list(index.shape)}")
    if _name(index.dtype) not in ("Long", "Int"):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {_name(index.dtype)}")
    if self.dtype is not source.dtype:
        raise RuntimeError(f"index_reduce_(): self ({_name(self.dtype)}) and source ({_name(source.dtype)}) must have "
                           "the same scalar type")
    along = source.shape[dim] if source.dim() else 1
    if index.numel() != along:
        raise RuntimeError(f"index_reduce_(): Number of indices ({index.numel()}) should be equal to "
                           f"source.size(dim): ({along}), for dim: {dim}")
    mine, theirs = list(self.shape), list(source.shape)
    if mine[:dim] + mine[dim + 1:] != theirs[:dim] + theirs[dim + 1:]:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {mine} source.shape = {theirs}")
    places = index.reshape([-1 if i == dim else 1 for i in range(source.dim())]).expand(source.shape)
    return self.scatter_reduce_(dim, places, source, reduce, include_self=include_self)


# --- flat, and under a mask ------------------------------------------------------------------------------------------

def take(input, index, *, out=None):
    """The elements at `index` of the tensor seen as one line."""
    if _name(index.dtype) != "Long":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_name(index.dtype)}")
    if input.numel() == 0 and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    flat = input.reshape(-1)
    return _to_out(flat[index.reshape(-1)].reshape(index.shape) if index.numel() else flat.new_empty(index.shape), out)


def put(input, index, source, accumulate=False):
    """The elements at `index` of the tensor seen as one line replaced by those of `source`."""
    return put_(input.clone(), index, source, accumulate)


def put_(self, index, source, accumulate=False):
    """The elements at `index` of the tensor seen as one line replaced by those of `source`, in place."""
    if _name(index.dtype) != "Long":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_name(index.dtype)}")
    if self.dtype is not source.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{_name(self.dtype)} and source.dtype = {_name(source.dtype)}")
    if index.numel() != source.numel():
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.numel()}, index.numel() = {index.numel()}")
    places, values = (index.reshape(-1),), source.reshape(-1)
    if self.is_contiguous():
        self.view(-1).index_put_(places, values, accumulate)
        return self
    return self.copy_(self.reshape(-1).index_put(places, values, accumulate).view(self.shape))


def masked_select(input, mask, *, out=None):
    """The elements where `mask` is true, in one line. Waits for the device."""
    if _name(mask.dtype) != "Bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    input, mask = broadcast_tensors(input, mask)
    return _to_out(input[mask] if mask.dim() else input.reshape(1)[mask.reshape(1)], out)


def masked_scatter(input, mask, source):
    """The elements where `mask` is true replaced by those of `source`, in order. Waits for the device."""
    if _name(mask.dtype) != "Bool":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {_name(mask.dtype)}")
    input, mask = broadcast_tensors(input, mask)
    return masked_scatter_(input.clone(memory_format=_contiguous()), mask, source)


def _contiguous():
    from mindtorch import contiguous_format
    return contiguous_format


def masked_scatter_(self, mask, source):
    """The elements where `mask` is true replaced by those of `source`, in order, in place. Waits for the device."""
    if _name(mask.dtype) != "Bool":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {_name(mask.dtype)}")
    if self.dtype is not source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{_name(self.dtype)} and {_name(source.dtype)}")
    places = _indexing.nonzero(mask.expand(self.shape) if self.dim() else mask.reshape(1))
    count = places.shape[0]
    if source.numel() < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    target = self if self.dim() else self.unsqueeze(0)
    target.index_put_(places.unbind(1), source.reshape(-1)[:count])
    return self


def take_along_dim(input, indices, dim=None, *, out=None):
    """The elements at `indices` of `dim`, shapes broadcast beside it; without `dim`, of the tensor as one line."""
    if _name(indices.dtype) != "Long":
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got "
                           f"{_name(indices.dtype)}")
    if dim is None:
        return take_along_dim(input.reshape(-1), indices.reshape(-1), 0, out=out)
    if input.dim() != indices.dim():
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.dim()} dimensions for input, and {indices.dim()} dimensions for indices")
    dim = _wrapped(dim, input.dim())
    indices = indices % (input.shape[dim] if input.dim() else 1)         # torch takes an index beyond the end, too
    ones = tuple(1 if i == dim else size for i, size in enumerate(indices.shape))
    mine = tuple(1 if i == dim else size for i, size in enumerate(input.shape))
    shape = broadcast_shapes(ones, mine)
    return _to_out(
        input.expand([input.shape[i] if i == dim else size for i, size in enumerate(shape)])
        .gather(dim, indices.expand([indices.shape[i] if i == dim else size for i, size in enumerate(shape)])), out)


def argwhere(input):
    """The indices of all elements that are not 0, a row each. Waits for the device."""
    return _indexing.nonzero(input)


def unravel_index(indices, shape):
    """For each place in a tensor of `shape` seen as one line, its index in every dimension."""
    if not isinstance(indices, TensorBase):
        raise TypeError(f"unravel_index(): argument 'indices' (position 1) must be Tensor, not "
                        f"{type(indices).__name__}")
    if indices.is_floating_point() or indices.is_complex() or _name(indices.dtype) == "Bool":
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    shape = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    found, rest = [], indices
    for size in reversed(shape):
        whole = rest // size
        found.append(rest - whole * size)
        rest = whole
    return tuple(reversed(found))


# --- shapes that broadcast -------------------------------------------------------------------------------------------

def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes have together."""
    from mindtorch import Size
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    made = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for place in range(-1, -1 - len(shape), -1):
            size = shape[place]
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size in (1, made[place]):
                continue
            if made[place] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            made[place] = size
    return Size(made)


def broadcast_tensors(*tensors):
    """The tensors expanded to the shape that they have together."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    made = ()
    for tensor in tensors:
        made = _merged(made, tuple(tensor.shape))
    return tuple(tensor.expand(made) for tensor in tensors)


def _merged(one, other):
    made = list(one if len(one) >= len(other) else other)
    for place in range(-1, -1 - min(len(one), len(other)), -1):
        if one[place] != other[place] and 1 not in (one[place], other[place]):
            raise RuntimeError(f"The size of tensor a ({one[place]}) must match the size of tensor b ({other[place]}) "
                               f"at non-singleton dimension {len(made) + place}")
        made[place] = other[place] if one[place] == 1 else one[place]
    return tuple(made)


# --- a part replaced -------------------------------------------------------------------------------------------------

def _replaced(input, view_of, src):
    result = input.clone()
    part = view_of(result)
    if part.shape != src.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.shape)}, slice size = {list(part.shape)}")
    part.copy_(src)
    return result


def select_scatter(input, src, dim, index):
    """The slice at `index` of `dim` replaced by `src`."""
    return _replaced(input, lambda result: result.select(dim, index), src)


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """The slices from `start` to `end` of `dim` replaced by `src`."""
    dim = _wrapped(dim, input.dim())
    return _replaced(input, lambda result: result[_along(dim, slice(start, end, step))], src)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """The diagonal replaced by `src`."""
    return _replaced(input, lambda result: result.diagonal(offset, dim1, dim2), src)


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """The elements that the strided view shows replaced by `src`."""
    return _replaced(input, lambda result: result.as_strided(size, stride, storage_offset or 0), src)


def _within(self, indices):
    """The index tensors with what points outside of `self` put onto its edges."""
    return [None if index is None else index.clamp(-size, size - 1)
            for index, size in zip(indices, self.shape, strict=False)]


def _unsafe_masked_index(self, mask, indices, fill):
    """The elements at `indices`; `fill` where `mask` is false, whatever the index is there."""
    found = self[tuple(slice(None) if index is None else index for index in _within(self, indices))]
    return found.masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    """`values` added at `indices` where `mask` is true."""
    return _indexing.index_put(self, tuple(_within(self, indices)), values.masked_fill(mask.logical_not(), 0), True)


FUNCTIONS = {f.__name__: f for f in (
    _unsafe_masked_index, _unsafe_masked_index_put_accumulate,
    index_copy, index_fill, index_reduce, take, put, masked_select, masked_scatter, take_along_dim, argwhere,
    unravel_index, broadcast_shapes, broadcast_tensors, select_scatter, slice_scatter, diagonal_scatter,
    as_strided_scatter)}
METHODS = {f.__name__: f for f in (
    index_copy, index_copy_, index_fill, index_fill_, index_reduce, index_reduce_, take, put, put_, masked_select,
    masked_scatter, masked_scatter_, take_along_dim, argwhere, select_scatter, slice_scatter, diagonal_scatter,
    as_strided_scatter)}
