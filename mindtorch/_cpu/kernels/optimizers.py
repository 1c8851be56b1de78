"""One step of the fused optimizers, over lists of arrays. Halves compute in float32 and are rounded when written."""
import numpy as np


def _as_float32(array):
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def _gradient(array, maximize, parameter, weight_decay):
    """With the decay of weights as a part of it."""
    gradient = -_as_float32(array) if maximize else _as_float32(array)
    return gradient + weight_decay * _as_float32(parameter) if weight_decay else gradient


def _adam_step(parameter, gradient, state, step, lr, beta1, beta2, eps):
    """Moments, then the parameter; `state` is (first, second, largest second or None)."""
    first, second, largest = state
    first[...] = beta1 * _as_float32(first) + (1 - beta1) * gradient
    second[...] = beta2 * _as_float32(second) + (1 - beta2) * gradient * gradient
    spread = _as_float32(second)
    if largest is not None:
        largest[...] = np.maximum(_as_float32(largest), spread)
        spread = _as_float32(largest)
    root = np.sqrt(spread) / np.sqrt(1 - beta2 ** step) + eps
    rate = float(np.divide(lr, 1 - beta1 ** step))       # before the first step: infinite
    parameter[...] = _as_float32(parameter) - rate * _as_float32(first) / root


def adam(parameters, gradients, firsts, seconds, largests, steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
         maximize):
    """Adam: the decay of weights is a part of the gradient."""
    largests = largests if amsgrad else [None] * len(parameters)
    for parameter, array, *state, step in zip(parameters, gradients, firsts, seconds, largests, steps, strict=True):
        gradient = _gradient(array, maximize, parameter, weight_decay)
        _adam_step(parameter, gradient, state, float(step.item()), lr, beta1, beta2, eps)


def adamw(parameters, gradients, firsts, seconds, largests, steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
          maximize):
    """AdamW: weights decay by themselves."""
    if weight_decay:
        for parameter in parameters:
            parameter[...] = _as_float32(parameter) * (1 - lr * weight_decay)
    adam(parameters, gradients, firsts, seconds, largests, steps, lr, beta1, beta2, 0.0, eps, amsgrad, maximize)


def sgd(parameters, gradients, momenta, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step):
    for parameter, array, buffer in zip(parameters, gradients, momenta or [None] * len(parameters), strict=True):
        change = gradient = _gradient(array, maximize, parameter, weight_decay)
        if buffer is not None:
            buffer[...] = gradient if is_first_step else momentum * _as_float32(buffer) + (1 - dampening) * gradient
            change = gradient + momentum * _as_float32(buffer) if nesterov else _as_float32(buffer)
        parameter[...] = _as_float32(parameter) - lr * change


def unscaled(gradient, found_inf, inv_scale):
    """The gradient times inv_scale; found_inf becomes 1 where something in it is no finite number."""
    if not np.isfinite(gradient).all():
        found_inf[...] = 1
    return _as_float32(gradient) * inv_scale


def updated_scale(scale, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval):
    """The scale after a step; growth_tracker counts those in a row that were finite."""
    if found_inf:
        growth_tracker[...] = 0
        return scale * np.float32(backoff_factor)
    growth_tracker += 1
    if growth_tracker != growth_interval:
        return scale
    growth_tracker[...] = 0
    grown = scale * np.float32(growth_factor)
    return grown if np.isfinite(grown) else scale
