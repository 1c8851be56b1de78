"""Derivatives of normalisation that no operator gives: mostly those of its derivatives.

Of a part of n elements, with normal = (x - mean) * rstd, the gradient of x is rstd * P(grad * weight), where
P(v) = v - mean(v) - normal * mean(v * normal) takes away what the statistics of the part take up. P is its own
adjoint, and rstd * P is the derivative of `normal` by x; all of this follows from that. RMS norm has no mean.
"""
from math import prod

from mindtorch._core.autograd.node import is_grad_enabled
from mindtorch._ops.derivatives.linalg import vector_norm_backward
from mindtorch._ops.operators import ops


def _differentiable_statistics(x, mean, rstd, over):
    """The statistics with the history that those saved by the forward operator lack: by x, for derivatives to come."""
    history = 0 if mean is None else x.mean(over, True)
    variance = ((x - history) ** 2).mean(over, True)
    rstd = (variance + (rstd ** -2 - variance).detach()) ** -0.5
    return None if mean is None else mean.detach() + (history - history.detach()), rstd


def _double_backward(grads, grad, x, mean, rstd, weight, over):
    """Gradients of grad, x and weight, in shapes that broadcast, from those of the gradients of x, weight and bias.

    Without `over` the statistics are constants.
    """
    of_input, of_weight, of_bias = grads
    if over:
        mean, rstd = _differentiable_statistics(x, mean, rstd, over)
    normal = x * rstd if mean is None else (x - mean) * rstd

    def slope(v):
        if not over:
            return rstd * v
        centred = v if mean is None else v - v.mean(over, True)
        return rstd * (centred - normal * (centred * normal).mean(over, True))

    parts, by_weight, by_normal, by_scale = [], None, 0, 0
    if of_input is not None:
        weighed = grad if weight is None else grad * weight
        back = slope(of_input)
        by_weight = grad * back
        parts.append(back if weight is None else back * weight)
        if over:
            by_normal = -rstd * ((of_input * normal).mean(over, True) * weighed
                                 + (weighed * normal).mean(over, True) * of_input)
            by_scale = rstd * normal * (of_input * slope(weighed)).mean(over, True)
    if of_weight is not None:
        parts.append(normal * of_weight)
        by_normal = by_normal + grad * of_weight
    if of_bias is not None:
        parts.append(of_bias.expand(grad.shape))
    by_input = None if isinstance(by_normal, int) else slope(by_normal) - by_scale
    return sum(parts[1:], parts[0]), by_input, by_weight


def _only(wanted, found):
    return [gradient if asked else None for gradient, asked in zip(found, wanted, strict=True)]


def _viewed(tensors, shape):
    return [None if tensor is None else tensor.reshape(shape) for tensor in tensors]


def layer_norm_double_backward(grads, grad_out, input, normalized_shape, mean, rstd, weight, wanted):
    """Gradients of grad_out, input and weight, and none of bias; `grads` are those of native_layer_norm_backward's
    results, or None.
    """
    over = tuple(range(-len(normalized_shape), 0))
    return [*_only(wanted[:3], _double_backward(grads, grad_out, input, mean, rstd, weight, over)), None]


def _constant_unless(by_input, weight):
    """The weight of a norm, whose own gradient does not depend on it."""
    return weight if by_input or weight is None else weight.detach()


def group_norm_backward(grads, input, weight, mean, rstd, N, C, HxW, group, wanted):
    """Gradients of input, weight and bias; `grads` are those of the result, the means and the reciprocal deviations."""
    of_result, of_mean, of_rstd = grads
    found = [None, None, None]
    if of_result is not None:
        by_sum = wanted[2] and is_grad_enabled()        # that of bias depends on nothing else
        weight = _constant_unless(wanted[0], weight)
        found = list(ops.native_group_norm_backward(of_result, input, mean, rstd, weight, N, C, HxW, group,
                                                    [*wanted[:2], wanted[2] and not by_sum]))
        if by_sum:
            found[2] = of_result.reshape(N, C, HxW).sum((0, 2))
    if not wanted[0] or (of_mean is None and of_rstd is None):
        return found
    x = input.reshape(N, group, C // group * HxW)
    mean, rstd, of_mean, of_rstd = _viewed((mean, rstd, of_mean, of_rstd), (N, group, 1))
    parts = [] if of_result is None else [found[0].reshape(x.shape)]
    parts += [] if of_mean is None else [(of_mean / x.shape[-1]).expand(x.shape)]
    parts += [] if of_rstd is None else [(x - mean) * (of_rstd * rstd ** 3 / -x.shape[-1])]
    return [sum(parts[1:], parts[0]).reshape(input.shape), *found[1:]]


def group_norm_double_backward(grads, grad_out, input, mean, rstd, weight, N, C, HxW, group, wanted):
    """Gradients of grad_out, input and weight; `grads` are those of native_group_norm_backward's results, or None."""
    shape, of_parameters = (N, group, C // group, HxW), (1, group, C // group, 1)
    of_input, grad, x = _viewed((grads[0], grad_out, input), shape)
    of_weight, of_bias, weight = _viewed((*grads[1:], weight), of_parameters)
    mean, rstd = _viewed((mean, rstd), (N, group, 1, 1))
    found = _double_backward((of_input, of_weight, of_bias), grad, x, mean, rstd, weight, (2, 3))
    by_weight = None if found[2] is None else found[2].sum((0, 3)).reshape(C)
    return _only(wanted, [*_viewed(found[:2], input.shape), by_weight])


def batch_norm_double_backward(grads, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train,
                               eps, wanted):
    """Gradients of grad_out, input and weight; `grads` are those of native_batch_norm_backward's results, or None."""
    over = tuple(dim for dim in range(input.dim()) if dim != 1)
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, (running_var + eps) ** -0.5)
    of_weight, of_bias, weight, mean, rstd = _viewed((*grads[1:], weight, mean, rstd), (1, -1, *[1] * (len(over) - 1)))
    found = _double_backward((grads[0], of_weight, of_bias), grad_out, input, mean, rstd, weight, over if train else ())
    by_weight = None if found[2] is None else found[2].sum(over)
    return _only(wanted, [*found[:2], by_weight])


def rms_norm_backward(grads, input, normalized_shape, weight, rstd, wanted):
    """Gradients of input and weight; `grads` are those of the result and of the reciprocal root mean squares."""
    of_result, of_rstd = grads
    found = [None, None]
    if of_result is not None:
        if weight is None:
            weight = ops.ones(normalized_shape, dtype=input.dtype, device=input.device)
        found = list(ops._rms_norm_backward(of_result, input, rstd, _constant_unless(wanted[0], weight)))
    if of_rstd is not None:
        part = (input * rstd ** 3).conj() * (of_rstd / -prod(normalized_shape))
        found[0] = part if found[0] is None else found[0] + part
    return _only(wanted, found)


def rms_norm_double_backward(grads, grad_out, input, rstd, weight, wanted):
    """Gradients of grad_out, input and weight; `grads` are those of _rms_norm_backward's results, or None."""
    if input.is_complex() and input.numel():
        raise NotImplementedError("rms_norm: the second derivative is not known for complex numbers")
    over = tuple(range(-weight.dim(), 0))
    return _only(wanted, _double_backward((*grads, None), grad_out, input, None, rstd, weight, over))


def renorm_backward(grad, self, p, dim, maxnorm):
    """Slices with a norm above maxnorm are self * maxnorm / (norm + 1e-7), the others `self`: the gradient of both."""
    over = [d for d in range(self.dim()) if d != dim]
    above = ops.linalg_vector_norm(self.detach(), p, over, True) > maxnorm
    # A norm that is no number must not reach the gradient of slices that stay as they are.
    x = ops.where(above, self, ops.ones_like(self))
    norm = ops.linalg_vector_norm(x, p, over, True)
    inner = (grad * x.conj()).sum(over, True)
    inner = inner.real if inner.is_complex() else inner
    scale = maxnorm / (norm + 1e-7)
    by_norm = vector_norm_backward(-inner * scale / (norm + 1e-7), x, p, over, True, norm)
    return ops.where(above, grad * scale + by_norm, grad)
