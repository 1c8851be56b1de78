"""Derivatives of reductions, cumulative operators, sorts and moments."""
from mindtorch._core.tensor.dtype import float16
from mindtorch._ops.derivatives.view import _new_zeros
from mindtorch._ops.operators import ops

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
    """The gradient, expanded to the shape that was summed."""
    return unreduced(grad, shape, dim, keepdim).expand(shape)


def mean_backward(grad, shape, dim, keepdim):
    """The gradient divided by the number of elements in a mean."""
    count = 1
    for d in _wrapped(dim, len(shape)):
        count *= shape[d]
    return sum_backward(grad, shape, dim, keepdim) / count


def extremum_reduced_backward(grad, self, result, dim, keepdim):
    """The gradient of amax and amin: elements that equal the extremum share it equally."""
    shape = self.shape
    hit = self == unreduced(result, shape, dim, keepdim)
    count = hit.sum(dim=tuple(_wrapped(dim, len(shape))), keepdim=True) if shape else 1
    return unreduced(grad, shape, dim, keepdim) * hit / count


def extrema_backward(grads, self, low, high, dim, keepdim):
    """The gradient of aminmax. One of the two results may have no gradient."""
    parts = [extremum_reduced_backward(grad, self, result, dim, keepdim)
             for grad, result in zip(grads, (low, high), strict=True) if grad is not None]
    return sum(parts[1:], parts[0])


def evenly_distribute_backward(grad, self, result, dim=()):
    """The gradient of max, min and median over all elements: those that equal the result (or are NaN, too) share it.

    vmap takes it for all elements of a sample, which lie along `dim`."""
    hit = (self == result) | (self.isnan() & result.isnan())
    return ops.where(hit, grad / hit.sum(dim, keepdim=dim != ()), 0.0)


def value_selecting_backward(grad, shape, dim, indices, keepdim):
    """The gradient of max and min along a dim: it goes to the selected element."""
    if not shape:
        return grad
    grad, indices = unreduced(grad, shape, (dim,), keepdim), unreduced(indices, shape, (dim,), keepdim)
    return _new_zeros(grad, shape).scatter(dim, indices, grad)


def scaled(grad, factor):
    """grad * factor; runs no kernel if the factor is 1."""
    return grad if factor == 1 else grad * factor


def scattered_backward(grad, shape, dim, indices):
    """The gradient of selections along a dim: each element of grad is added to the element that was selected."""
    if not shape:
        return grad
    return _new_zeros(grad, shape).scatter_add(dim, indices, grad)


# --- moments ---------------------------------------------------------------------------------------------------------

def _degrees_of_freedom(shape, dim, correction):
    count = 1
    for d in _wrapped(dim, len(shape)):
        count *= shape[d]
    return count - (1 if correction is None else correction)


def _centered(self, dim):
    return self - self.mean(_wrapped(dim, self.dim()), keepdim=True)


def var_backward(grad, self, dim, correction, keepdim):
    """2 / freedom times the distance from the mean. Without a dim, what is not above 0 counts as 0, as in torch."""
    freedom = _degrees_of_freedom(self.shape, dim, correction)
    grad = unreduced(grad, self.shape, dim, keepdim)
    if freedom <= 0 and not (dim and self.dim()):
        return grad * ops.where(self == self.mean(), float("nan"), float("inf"))
    return (2.0 / freedom if freedom else float("inf")) * grad * _centered(self, dim)


def std_backward(grad, self, result, dim, correction, keepdim):
    """That of the variance over twice the deviation, and 0 where the deviation is 0."""
    slope = result.masked_fill(result == 0, float("inf"))
    return var_backward(grad / (slope * 2), self, dim, correction, keepdim)


def _moments_backward(grad, grad_mean, self, dim, keepdim):
    """The sum of a moment's gradient and of the mean's. Either of the two results may have none."""
    if grad_mean is None:
        return grad
    count = max(_degrees_of_freedom(self.shape, dim, 0), 1)
    part = sum_backward(grad_mean, self.shape, dim, keepdim) / count
    return part if grad is None else grad + part


def var_mean_backward(grads, self, dim, correction, keepdim):
    """The sum of both gradients."""
    grad, grad_mean = grads
    grad = None if grad is None else var_backward(grad, self, dim, correction, keepdim)
    return _moments_backward(grad, grad_mean, self, dim, keepdim)


def std_mean_backward(grads, self, std, dim, correction, keepdim):
    """The sum of both gradients."""
    grad, grad_mean = grads
    grad = None if grad is None else std_backward(grad, self, std, dim, correction, keepdim)
    return _moments_backward(grad, grad_mean, self, dim, keepdim)


# --- products --------------------------------------------------------------------------------------------------------

def _product_of_others(self, dim):
    """For each element the product of the others along `dim`."""
    one = self.narrow(dim, 0, 1).new_ones(self.narrow(dim, 0, 1).shape)
    length = self.shape[dim]
    before = ops.cat([one, self.narrow(dim, 0, length - 1)], dim).cumprod(dim)
    after = ops.cat([one, self.narrow(dim, 1, length - 1).flip(dim)], dim).cumprod(dim)
    return before * after.flip(dim)


def prod_dim_backward(grad, self, result, dim, keepdim):
    """The product of the other elements: result / self, unless a 0 is among them."""
    shape, self = self.shape, self.to(grad.dtype)           # in dtype=, in which they were multiplied
    if not shape:
        return grad
    grad = unreduced(grad, shape, (dim,), keepdim)
    if not self.is_meta and (self == 0).any().item():
        return grad * _product_of_others(self, dim).conj()
    return grad * (unreduced(result, shape, (dim,), keepdim) / self).conj()


def prod_backward(grad, self, result):
    """That of the product along the only dimension of a flat tensor."""
    if not self.dim():
        return grad
    return prod_dim_backward(grad, self.reshape(-1), result, 0, False).reshape(self.shape)


def cumsum_backward(grad, dim):
    """The gradients of all sums that an element went into."""
    return grad.flip(dim).cumsum(dim).flip(dim) if grad.numel() and grad.dim() else grad


def cumprod_backward(grad, self, dim, result):
    """sum over later products of grad * product / self; where self has zeros, product by product."""
    if not self.dim() or self.numel() == 0 or self.shape[dim] == 1:
        return grad
    if self.is_meta or not (self == 0).any().item():
        return cumsum_backward(grad * result.conj(), dim) / self.conj()
    length, parts = self.shape[dim], []
    before = ops.ones_like(self.narrow(dim, 0, 1))
    for i in range(length):
        rest = self.narrow(dim, i + 1, length - i - 1)
        others = ops.cat([before, rest], dim).cumprod(dim)
        parts.append((grad.narrow(dim, i, length - i) * others.conj()).sum(dim, keepdim=True))
        before = before * self.narrow(dim, i, 1)
    return ops.cat(parts, dim)


# --- logarithms of sums -----------------------------------------------------------------------------------------------

def logsumexp_backward(grad, self, result, dim, keepdim):
    """The share of each element in the sum."""
    grad, result = unreduced(grad, self.shape, dim, keepdim), unreduced(result, self.shape, dim, keepdim)
    return grad * (self - result).exp().conj()


def logcumsumexp_backward(grad, self, result, dim):
    """Sums of positive and of negative gradients, each in logarithms."""
    if not self.dim() or self.numel() == 0:
        return grad

    if self.is_complex():
        later = (grad.log() - result.conj()).flip(dim).logcumsumexp(dim)
        return (later.flip(dim) + self.conj()).exp()
    logarithm = grad.abs().log()
    lowest = -6e4 if self.dtype is float16 else -1e38

    def part(of_sign):
        later = (ops.where(of_sign, logarithm, lowest) - result).flip(dim).logcumsumexp(dim)
        return (later.flip(dim) + self).exp()
    return part(grad > 0) - part(grad < 0)
