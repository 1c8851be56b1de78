"""What decompositions that sum over a table of numbers share.

A sum of n terms for each element takes three or four launches where the terms are the rows of one tensor, and not three
a term. That tensor is n times as large as the operand, so large operands go through it piece by piece.
"""
from functools import wraps

from mindtorch._core.tensor.dtype import float64
from mindtorch._core.tensor.factories import cached_constant
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.operators import ops

MOST = 1 << 24          # numbers in one tensor


def table(like, make, *key):
    """The numbers of make(*key, wide) in the dtype and on the device of `like`; `wide`: that is float64."""
    return cached_constant(like, make, *key, like.dtype is float64)


def on_one_device(*tensors):
    """The tensors, with 0-d tensors of the CPU copied to the device of the others."""
    device = next((x.device for x in tensors if x.device.type != "cpu"), tensors[0].device)
    return [x.to(device) for x in tensors]


def by_element(width, wide=None):
    """A decorator for functions of one element that make `width` numbers for each, `wide` of float64.

    The function gets vectors of few enough elements. Tensors come first among its arguments, and are broadcast.
    """
    def decorate(function):
        @wraps(function)
        def in_pieces(*arguments):
            tensors = [x for x in arguments if isinstance(x, TensorBase)]
            options = arguments[len(tensors):]
            tensors = ops.broadcast_tensors(*on_one_device(*tensors))
            shape, numbers = tensors[0].shape, wide or width if tensors[0].dtype is float64 else width
            pieces = zip(*(x.reshape(-1).split(max(MOST // numbers, 1)) for x in tensors), strict=True)
            results = [function(*piece, *options) for piece in pieces]
            return (results[0] if len(results) == 1 else ops.cat(results)).reshape(shape)
        return in_pieces
    return decorate
