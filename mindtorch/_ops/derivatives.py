"""Formulas that the derivative column of the op rows calls: what is longer than one expression.

Each gives the gradient of one operand. They are written with operators, so they run on the device of the gradient and
can themselves be differentiated. The engine sums a gradient to the shape of its operand and casts it to its dtype;
formulas need not. Conventions at points without a derivative are those of torch 2.13.
"""
from types import SimpleNamespace

from mindtorch._core import composites as _core_composites
from mindtorch._core import factories as _factories
from mindtorch._core import moves as _moves
from mindtorch._core import view_functions as _views
from mindtorch._core._gen import namespace as _generated
from mindtorch._ops import composites as _composites

# Operators by name, for the formulas here and for those of the rows.
ops = SimpleNamespace(**{**_views.FUNCTIONS, **_moves.FUNCTIONS, **_generated.FUNCTIONS, **_generated.ATEN,
                         **_generated.NPU, **_core_composites.FUNCTIONS, **_composites.FUNCTIONS,
                         **_factories.FUNCTIONS})


def _new_zeros(grad, shape):
    return ops.zeros(tuple(shape), dtype=grad.dtype, device=grad.device)


# --- views -----------------------------------------------------------------------------------------------------------

def permute_backward(grad, dims):
    """The inverse permutation."""
    inverse = [0] * len(dims)
    for place, dim in enumerate(dims):
        inverse[dim] = place
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
    """The parts together again."""
    return ops.cat(grads, dim)


def unbind_backward(grads, dim):
    """The slices together again."""
    return ops.stack(grads, dim)


def _extent(sizes, strides):
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) if 0 not in sizes else 0


def _overlaps(sizes, strides):
    """Whether two indices may reach the same element."""
    reach = 1
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1:
            if stride < reach:
                return True
            reach = stride * (size - 1) + reach
    return False


def _add_strided(flat, values, sizes, strides, offset):
    """Add `values` where a strided view of `flat` looks; slice by slice where one place is seen several times."""
    if not _overlaps(sizes, strides):
        flat.as_strided(sizes, strides, offset).add_(values)
        return
    dim = min((d for d in range(len(sizes)) if sizes[d] > 1), key=lambda d: (strides[d], sizes[d]))
    if strides[dim] == 0:
        values, places = values.sum(dim, keepdim=True), 1
    else:
        places = sizes[dim]
    rest = tuple(sizes[:dim]) + tuple(sizes[dim + 1:]), tuple(strides[:dim]) + tuple(strides[dim + 1:])
    for place in range(places):
        _add_strided(flat, values.select(dim, place), *rest, offset + place * strides[dim])


def as_strided_backward(grad, base_geometry, geometry):
    """Zeros like the base, with `grad` added where the strided view looked."""
    base_sizes, base_strides, base_offset = base_geometry
    sizes, strides, offset = geometry
    first = min(offset, base_offset)
    last = max(base_offset + _extent(base_sizes, base_strides), offset + _extent(sizes, strides))
    flat = _new_zeros(grad, (max(last - first, 0),))
    _add_strided(flat, grad, sizes, strides, offset - first)
    if _overlaps(base_sizes, base_strides):
        count = ops.zeros_like(flat)
        _add_strided(count, flat.new_ones(base_sizes), base_sizes, base_strides, base_offset - first)
        flat = flat / count.clamp(min=1)
    return flat.as_strided(base_sizes, base_strides, base_offset - first)


def copy_slices_backward(grad, base_geometry, geometry, of_view, needed):
    """The gradients of an in-place operator on a view: of the base, then of the operator's other operands."""
    sizes, strides, offset = base_geometry
    flat = ops.empty((_extent(sizes, strides),), dtype=grad.dtype, device=grad.device)
    of_base = flat.as_strided(sizes, strides, 0)
    of_base.copy_(grad)
    part = of_base.as_strided(geometry[0], geometry[1], geometry[2] - offset)
    first, *others = of_view(part.clone(), needed)
    if first is None:
        part.zero_()
    else:
        part.copy_(first)
    return [of_base, *others]


# --- pointwise -------------------------------------------------------------------------------------------------------

def abs_backward(grad, self):
    """The gradient with the sign of self."""
    if self.is_complex():
        return grad * self.sgn()
    return ops.where(self < 0, -grad, ops.where(self > 0, grad, ops.zeros_like(grad)))


def pow_backward_self(grad, self, exponent):
    """exponent * self ** (exponent - 1), and 0 where the exponent is 0."""
    if isinstance(exponent, (int, float, complex)):
        if exponent == 0:
            return ops.zeros_like(grad)
        return grad * (exponent * self.pow(exponent - 1)).conj()
    slope = exponent * self.pow(exponent - 1)
    return ops.where(exponent == 0, ops.zeros_like(slope), grad * slope.conj())


def pow_backward_exponent(grad, self, exponent, result):
    """result * log(self), and 0 where self is 0 and the exponent is not negative."""
    if isinstance(self, (int, float, complex)):
        if self == 0:
            return ops.where(exponent >= 0, ops.zeros_like(grad), grad * (result * float("-inf")))
        from cmath import log
        slope = log(self)
        return grad * (result * (slope if isinstance(self, complex) or slope.imag else slope.real)).conj()
    slope = result * self.log()
    if exponent.is_complex():
        return ops.where((self == 0) & (exponent.real >= 0), ops.zeros_like(slope), grad * slope.conj())
    return ops.where((self == 0) & (exponent >= 0), ops.zeros_like(slope), grad * slope.conj())


def extremum_backward(grad, self, other, wins):
    """Of maximum and minimum: all of the gradient where self wins, half of it where both are equal."""
    return ops.where(self == other, grad / 2, ops.where(wins, grad, ops.zeros_like(grad)))


def clamp_backward(grad, self, min, max):
    """The gradient where self is within the bounds."""
    inside = None
    if min is not None:
        inside = self >= min
    if max is not None:
        inside = self <= max if inside is None else inside & (self <= max)
    return ops.where(inside, grad, ops.zeros_like(grad))


def clamp_backward_min(grad, self, min, max):
    """The gradient where the lower bound took self's place."""
    hit = self < min
    if max is not None:
        hit = hit & (min < max)
    return ops.where(hit, grad, ops.zeros_like(grad))


def clamp_backward_max(grad, self, min, max):
    """The gradient where the upper bound took self's place."""
    hit = self > max
    if min is not None:
        hit = hit | (max < min)
    return ops.where(hit, grad, ops.zeros_like(grad))


# --- reductions ------------------------------------------------------------------------------------------------------

def _wrapped(dim, ndim):
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return sorted(d % ndim for d in dims) if dims and ndim else list(range(ndim))


def unreduced(tensor, shape, dim, keepdim):
    """The dimensions that a reduction took away, of size 1 again. An empty `dim` means all of them."""
    if keepdim or not shape:
        return tensor
    for d in _wrapped(dim, len(shape)):
        tensor = tensor.unsqueeze(d)
    return tensor


def sum_backward(grad, shape, dim, keepdim):
    """The gradient in every place that was summed."""
    return unreduced(grad, shape, dim, keepdim).expand(shape)


def mean_backward(grad, shape, dim, keepdim):
    """The gradient shared out evenly."""
    count = 1
    for d in _wrapped(dim, len(shape)):
        count *= shape[d]
    return sum_backward(grad, shape, dim, keepdim) / count


def extremum_reduced_backward(grad, self, result, dim, keepdim):
    """Of amax and amin: the gradient shared out evenly among the places of the extremum."""
    shape = self.shape
    hit = self == unreduced(result, shape, dim, keepdim)
    count = hit.sum(dim=tuple(_wrapped(dim, len(shape))), keepdim=True) if shape else 1
    return unreduced(grad, shape, dim, keepdim) * hit / count


def extrema_backward(grads, self, low, high, dim, keepdim):
    """Of aminmax, which may have a gradient for one of both."""
    parts = [extremum_reduced_backward(grad, self, result, dim, keepdim)
             for grad, result in zip(grads, (low, high), strict=True) if grad is not None]
    return sum(parts[1:], parts[0])


def evenly_backward(grad, self, result):
    """Of max, min and median of all: the gradient shared out evenly among the places of the result, NaN or not."""
    hit = (self == result) | (self.isnan() & result.isnan())
    return ops.where(hit, grad / hit.sum(), 0.0)


def value_selecting_backward(grad, shape, dim, indices, keepdim):
    """Of max and min along a dim: the gradient goes to the place that was chosen."""
    if not shape:
        return grad
    grad, indices = unreduced(grad, shape, (dim,), keepdim), unreduced(indices, shape, (dim,), keepdim)
    return _new_zeros(grad, shape).scatter(dim, indices, grad)


def scaled(grad, factor):
    """grad * factor, and no kernel where that changes nothing."""
    return grad if factor == 1 else grad * factor


# --- matrix products -------------------------------------------------------------------------------------------------

def _column_major(shape, stride):
    return stride[0] == 1 and stride[1] == shape[0] and shape[0] != 1


def mm_backward_self(grad, mat2, shape, stride, alpha):
    """grad @ mat2.T, laid out as self is."""
    product = mat2.conj().mm(grad.t()).t() if _column_major(shape, stride) else grad.mm(mat2.t().conj())
    return scaled(product, alpha)


def mm_backward_mat2(grad, self, shape, stride, alpha):
    """self.T @ grad, laid out as mat2 is."""
    product = grad.t().mm(self.conj()).t() if _column_major(shape, stride) else self.t().conj().mm(grad)
    return scaled(product, alpha)


def _turned(tensor):
    return tensor.transpose(-1, -2).conj()


def matmul_backward_self(grad, self, other):
    """Of matmul in all its forms; the engine sums over broadcast dimensions."""
    if self.dim() == 1 and other.dim() == 1:
        return grad * other.conj()
    if self.dim() == 1:
        return (grad.unsqueeze(-2) @ _turned(other)).squeeze(-2)
    if other.dim() == 1:
        return grad.unsqueeze(-1) * other.conj()
    if self.dim() == 2 and other.dim() == 2:
        return mm_backward_self(grad, other, self.shape, self.stride(), 1)
    return grad @ _turned(other)


def matmul_backward_other(grad, self, other):
    """Of matmul in all its forms; the engine sums over broadcast dimensions."""
    if self.dim() == 1 and other.dim() == 1:
        return grad * self.conj()
    if other.dim() == 1:
        return (_turned(self) @ grad.unsqueeze(-1)).squeeze(-1)
    if self.dim() == 1:
        return self.conj().unsqueeze(-1) * grad.unsqueeze(-2)
    if other.dim() == 2:
        return mm_backward_mat2(grad.flatten(0, -2), self.flatten(0, -2), other.shape, other.stride(), 1)
    return _turned(self) @ grad


# --- joining ---------------------------------------------------------------------------------------------------------

def cat_backward(grad, shapes, dim):
    """The parts of the gradient; tensors of shape (0,) took no part."""
    parts, start = [], 0
    for shape in shapes:
        if len(shape) == 1 and shape[0] == 0 and grad.dim() != 1:
            parts.append(_new_zeros(grad, shape))
            continue
        parts.append(grad.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return parts
