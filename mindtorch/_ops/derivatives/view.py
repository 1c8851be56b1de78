"""Derivatives of views and of operators that join, move or index elements."""
from math import prod

from mindtorch._core.tensor.torch_dispatch import is_dispatched
from mindtorch._ops.operators import ops


def _new_zeros(grad, shape):
    if is_dispatched(grad):
        return grad.new_zeros(tuple(shape))
    return ops.zeros(tuple(shape), dtype=grad.dtype, device=grad.device)


# --- views -----------------------------------------------------------------------------------------------------------

def permute_backward(grad, dims):
    """The inverse permutation."""
    inverse = [0] * len(dims)
    for position, dim in enumerate(dims):
        inverse[dim] = position
    return grad.permute(inverse)


def select_backward(grad, shape, dim, index):
    """Zeros, with `grad` at `index` of `dim`."""
    result = _new_zeros(grad, shape)
    result.select(dim, index).copy_(grad)
    return result


def slice_backward(grad, shape, dim, start, length, step):
    """Zeros, with `grad` in every `step`-th slice from `start` on."""
    result = _new_zeros(grad, shape)
    index = (slice(None),) * dim + (slice(start, start + (length - 1) * step + 1 if length else start, step),)
    result[index].copy_(grad)
    return result


def index_backward(grad, shape, index):
    """Zeros, with `grad` where a basic index pointed."""
    result = _new_zeros(grad, shape)
    result[index].copy_(grad)
    return result


def diagonal_backward(grad, shape, offset, dim1, dim2):
    """Zeros, with `grad` on the diagonal."""
    result = _new_zeros(grad, shape)
    result.diagonal(offset, dim1, dim2).copy_(grad)
    return result


def split_backward(grads, dim):
    """The gradients of the parts, concatenated."""
    return ops.cat(grads, dim)


def unbind_backward(grads, dim):
    """The gradients of the slices, stacked."""
    return ops.stack(grads, dim)


def _extent(sizes, strides):
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) if 0 not in sizes else 0


def _overlaps(sizes, strides):
    """Whether two indices may have the same address."""
    reach = 1
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1:
            if stride < reach:
                return True
            reach = stride * (size - 1) + reach
    return False


def _add_strided(flat, values, sizes, strides, offset):
    """Add `values` to a strided view of `flat`; slice by slice where elements of the view share memory."""
    if not _overlaps(sizes, strides):
        flat.as_strided(sizes, strides, offset).add_(values)
        return
    dim = min((d for d in range(len(sizes)) if sizes[d] > 1), key=lambda d: (strides[d], sizes[d]))
    if strides[dim] == 0:
        values, count = values.sum(dim, keepdim=True), 1
    else:
        count = sizes[dim]
    rest = tuple(sizes[:dim]) + tuple(sizes[dim + 1:]), tuple(strides[:dim]) + tuple(strides[dim + 1:])
    for i in range(count):
        _add_strided(flat, values.select(dim, i), *rest, offset + i * strides[dim])


def _of_parts(geometry):
    """The geometry of a complex tensor's real and imaginary parts."""
    sizes, strides, offset, *_ = geometry
    return (*sizes, 2), (*(2 * stride for stride in strides), 1), 2 * offset, False, 0


def _turned(grad, bits):
    """The gradient of what the memory holds, for that of a view with bits, and the other way round."""
    grad = grad.conj() if bits & 1 else grad
    return (-grad if bits & 2 else grad).resolve_conj()


def _without_bits(geometry):
    return *geometry[:4], 0


def _complex_of_parts(parts):
    return ops.complex(parts[..., 0], parts[..., 1])


def as_strided_backward(grad, base_geometry, geometry):
    """Zeros like the base, with `grad` added to the elements of the strided view."""
    base_sizes, base_strides, base_offset, base_is_complex, base_bits = base_geometry
    sizes, strides, offset, is_complex, bits = geometry
    if bits or base_bits:
        of_memory = as_strided_backward(_turned(grad, bits), _without_bits(base_geometry), _without_bits(geometry))
        return _turned(of_memory, base_bits)
    if is_complex and not base_is_complex:
        return as_strided_backward(ops.view_as_real(grad.resolve_conj()), base_geometry, _of_parts(geometry))
    if base_is_complex and not is_complex:
        return _complex_of_parts(as_strided_backward(grad, _of_parts(base_geometry), geometry))
    first = min(offset, base_offset)
    last = max(base_offset + _extent(base_sizes, base_strides), offset + _extent(sizes, strides))
    flat = _new_zeros(grad, (max(last - first, 0),))
    _add_strided(flat, grad, sizes, strides, offset - first)
    if _overlaps(base_sizes, base_strides):
        count = ops.zeros_like(flat.real)
        _add_strided(count, count.new_ones(base_sizes), base_sizes, base_strides, base_offset - first)
        flat = flat / count.clamp(min=1)
    return flat.as_strided(base_sizes, base_strides, base_offset - first)


def copy_slices_backward(grad, base_geometry, geometry, view_backward, needed):
    """The gradients of an in-place operator on a view: of the base, then of the operator's other operands."""
    sizes, strides, offset, base_is_complex, base_bits = base_geometry
    bits = geometry[4]
    if bits or base_bits:
        def turned(part, needed):
            first, *others = view_backward(_turned(part, bits), needed)
            return [first if first is None else _turned(first, bits), *others]
        first, *others = copy_slices_backward(_turned(grad, base_bits), _without_bits(base_geometry),
                                              _without_bits(geometry), turned, needed)
        return [_turned(first, base_bits), *others]
    if base_is_complex and not geometry[3]:
        first, *others = copy_slices_backward(ops.view_as_real(grad.resolve_conj()), _of_parts(base_geometry), geometry,
                                              view_backward, needed)
        return [_complex_of_parts(first), *others]
    if geometry[3] and not base_is_complex:
        def of_parts(part, needed):
            first, *others = view_backward(_complex_of_parts(part), needed)
            return [first if first is None else ops.view_as_real(first.resolve_conj()), *others]
        return copy_slices_backward(grad, base_geometry, _of_parts(geometry), of_parts, needed)
    flat = _new_zeros(grad, (_extent(sizes, strides),)) if is_dispatched(grad) else ops.empty(
        (_extent(sizes, strides),), dtype=grad.dtype, device=grad.device)
    grad_base = flat.as_strided(sizes, strides, 0)
    grad_base.copy_(grad)
    part = grad_base.as_strided(geometry[0], geometry[1], geometry[2] - offset)
    first, *others = view_backward(part.clone(), needed)
    if first is None:
        part.zero_()
    else:
        part.copy_(first)
    return [grad_base, *others]


# --- joining ---------------------------------------------------------------------------------------------------------

def cat_backward(grad, shapes, dim):
    """The parts of the gradient; tensors of shape (0,) took no part."""
    parts, start = [], 0
    for shape in shapes:
        if tuple(shape) == (0,):
            parts.append(_new_zeros(grad, shape))
            continue
        parts.append(grad.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return parts


# --- indexing with tensors -------------------------------------------------------------------------------------------

def index_put_backward(grad, indices):
    """The gradient of `values`: the elements of grad at their positions."""
    return grad[tuple(slice(None) if index is None else index for index in indices)]


def gather_backward(grad, shape, dim, index):
    """Adds each element of grad to the element that gather read."""
    zeros = grad.new_zeros(shape)
    return zeros.scatter_add(dim, index, grad) if index.numel() else zeros


def scatter_backward_src(grad, dim, index, shape):
    """The gradient of `src`: the elements of grad at their positions, and 0 for elements that index did not scatter."""
    part = grad.gather(dim, index)
    return _placed(part, shape)


def index_add_backward_source(grad, dim, index, shape, alpha):
    """The gradient of `source`: the slices of grad at their positions."""
    part = grad.index_select(dim, index).reshape(shape)
    return part if alpha == 1 else part * alpha


def _mean_count(grad, shape, dim, index, include_self):
    """The number of elements that each mean was taken of."""
    start = grad.new_ones(grad.shape) if include_self else grad.new_zeros(grad.shape)
    count = start.scatter_add(dim, index, grad.new_ones(shape))
    return count.masked_fill(count == 0, 1)


def _extremum_gradient(grad, self, dim, index, src, result):
    """grad divided by the number of elements that equal the extremum."""
    hits = (self == result).to(grad.dtype).scatter_add(dim, index, (src == result.gather(dim, index)).to(grad.dtype))
    return grad / hits


def scatter_reduce_backward_self(grad, self, dim, index, src, reduce, include_self, result):
    """The gradient of `self`."""
    src = _indexed_part(src, index)
    if reduce == "sum":
        found = grad
    elif reduce == "mean":
        found = grad / _mean_count(grad, index.shape, dim, index, include_self)
    elif reduce == "prod":
        nonzero = self.masked_fill(self == 0, 1)
        found = grad * nonzero.scatter_reduce(dim, index, src, reduce, include_self=include_self) / nonzero
    else:
        found = (self == result) * _extremum_gradient(grad, self, dim, index, src, result)
    return found if include_self else found.scatter(dim, index, 0)


def scatter_reduce_backward_src(grad, self, dim, index, src, reduce, include_self, result):
    """The gradient of `src`."""
    shape, src = src.shape, _indexed_part(src, index)
    if reduce == "sum":
        found = grad.gather(dim, index)
    elif reduce == "mean":
        found = (grad / _mean_count(grad, index.shape, dim, index, include_self)).gather(dim, index)
    elif reduce == "prod":
        found = _product_gradient(grad, self, dim, index, src, include_self, result)
    else:
        share = _extremum_gradient(grad, self, dim, index, src, result).gather(dim, index)
        found = (src == result.gather(dim, index)) * share
    return _placed(found, shape)


def _placed(part, shape):
    """A gradient of src: `part` where index reaches, 0 elsewhere."""
    if tuple(part.shape) == tuple(shape):
        return part
    if not shape:
        return part.reshape(())
    whole = part.new_zeros(shape)
    whole[tuple(slice(0, size) for size in part.shape)].copy_(part)
    return whole


def _indexed_part(src, index):
    """The part of src that index reaches."""
    if src.dim() == 0:
        return src.reshape(index.shape)
    return src if src.shape == index.shape else src[tuple(slice(0, size) for size in index.shape)]


def _product_gradient(grad, self, dim, index, src, include_self, result):
    """grad times the product of all other factors: a quotient, unless the element is the only 0 among the factors."""
    zero = src == 0
    zeros = self.new_zeros(self.shape).scatter_add(dim, index, zero.to(self.dtype)).gather(dim, index)
    alone = zero & (zeros == 1)
    others = self.scatter_reduce(dim, index, src.masked_fill(alone, 1), "prod", include_self=include_self)
    quotient = (grad * result).gather(dim, index) / src.masked_fill(zero, 1)
    return ops.where(alone, (grad * others).gather(dim, index), quotient)


# --- slices, and masks -----------------------------------------------------------------------------------------------

def slices_at(like, dim, index):
    """A mask, True for the slices of `dim` that index names."""
    size = like.shape[dim] if like.dim() else 1
    chosen = ops.zeros((size,), dtype=index.dtype, device=index.device).index_fill(0, index, 1) != 0
    return chosen.reshape((-1,) + (1,) * (like.dim() - dim - 1)) if like.dim() else chosen.reshape(())


def index_fill_backward_value(grad, dim, index):
    """The gradient of `value`: the sum of grad over the filled slices, each counted once."""
    return ops.where(slices_at(grad, dim, index), grad, 0).sum()


def masked_scatter_backward(grad, mask, shape):
    """The gradient of `source`: grad where the mask is true, in order, then 0 for elements that were not used."""
    chosen, count = mask.expand_as(grad).reshape(-1), prod(shape)
    positions = ops.where(chosen, chosen.cumsum(0) - 1, count)         # one element more, for what the mask leaves out
    return grad.new_zeros(count + 1).scatter(0, positions, grad.reshape(-1)).narrow(0, 0, count).reshape(shape)


# --- flip, roll, repeat_interleave -----------------------------------------------------------------------------------

def flip_backward(grad, dims):
    """A flip is its own inverse."""
    return grad.flip(dims)


def roll_backward(grad, shifts, dims):
    """The inverse permutation."""
    return grad.roll([-shift for shift in shifts], dims)


def repeat_backward(grad, repeats, shape):
    """The sum over all copies; of none zeros without a history, as in torch."""
    if 0 in repeats:
        return grad.new_zeros(shape)
    leading = len(repeats) - len(shape)
    apart = [size for pair in zip(repeats, (1,) * leading + tuple(shape), strict=True) for size in pair]
    return grad.reshape(apart).sum(list(range(0, len(apart), 2))).reshape(shape) if apart else grad


def _flat_unless_dim(shape, dim):
    """(the shape, the dimension that was repeated): without `dim`, the shape of the flattened tensor."""
    return (tuple(shape), dim[0] % len(shape)) if dim else ((prod(shape),), 0)


def repeat_interleave_int_backward(grad, shape, repeats, dim):
    """The sum over the copies of each element."""
    line, position = _flat_unless_dim(shape, dim)
    return grad.reshape((*line[:position + 1], repeats, *line[position + 1:])).sum(position + 1).reshape(shape)


def repeat_interleave_backward(grad, shape, repeats, dim):
    """The sum over the copies of each element."""
    line, position = _flat_unless_dim(shape, dim)
    repeats = repeats.reshape(-1).expand(line[position])
    origins = ops.repeat_interleave(repeats, output_size=grad.shape[position])
    return grad.new_zeros(line).index_add(position, origins, grad).reshape(shape)


def trace_backward(grad, shape):
    """The gradient on the diagonal."""
    return diagonal_backward(grad.expand(min(shape)), shape, 0, 0, 1)
