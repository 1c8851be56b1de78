"""Derivatives of pooling, padding and resampling."""
from mindtorch._ops.derivatives import ops


def constant_pad_nd_backward(grad, pad):
    """What the padding surrounds, and zeros where it took away."""
    return ops.constant_pad_nd(grad, [-width for width in pad])


def picked(grad, indices, dims):
    """The elements of `grad` that the flat indices of `dims` dimensions point to."""
    flat, places = grad.flatten(-dims), indices.flatten(-dims)
    return ops.gather(flat, -1, places).reshape(indices.shape)


def optional_int(values):
    """The number in a list of at most one, or None."""
    return values[0] if values else None


def last_sizes(shape, dims):
    """The sizes of the last dimensions."""
    return shape[len(shape) - dims:]
