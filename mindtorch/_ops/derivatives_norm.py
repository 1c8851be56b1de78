"""Derivatives of the derivatives of normalisation.

Of a part of n elements, with normal = (x - mean) * rstd, the gradient of x is rstd * P(grad * weight), where
P(v) = v - mean(v) - normal * mean(v * normal) takes away what the statistics of the part take up. P is its own
adjoint, and rstd * P is the derivative of `normal` by x; all of this follows from that.
"""


def _following(x, mean, rstd, over):
    """The statistics with the history that those saved by the forward operator lack: by x, for derivatives to come."""
    history = x.mean(over, True)
    variance = ((x - history) ** 2).mean(over, True)
    return mean + (history - history.detach()), (variance + (rstd ** -2 - variance).detach()) ** -0.5


def _double_backward(grads, grad, x, mean, rstd, weight, over):
    """Gradients of grad, x and weight, in shapes that broadcast, from those of the gradients of x, weight and bias."""
    of_input, of_weight, of_bias = grads
    mean, rstd = _following(x, mean, rstd, over)
    normal = (x - mean) * rstd

    def slope(v):
        return rstd * (v - v.mean(over, True) - normal * (v * normal).mean(over, True))

    parts, by_weight, by_normal, by_scale = [], None, 0, 0
    if of_input is not None:
        weighed = grad if weight is None else grad * weight
        back = slope(of_input)
        by_weight = grad * back
        parts.append(back if weight is None else back * weight)
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


def layer_norm_double_backward(grads, grad_out, input, normalized_shape, mean, rstd, weight, wanted):
    """Gradients of grad_out, input and weight; `grads` are those of native_layer_norm_backward's results, or None."""
    over = tuple(range(-len(normalized_shape), 0))
    found = _double_backward(grads, grad_out, input, mean, rstd, weight, over)
    return [gradient if asked else None for gradient, asked in zip(found, wanted, strict=True)]
