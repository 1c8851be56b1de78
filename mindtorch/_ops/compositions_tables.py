"""What formulas with tables share: functions of an element as sums over a last dimension, in a handful of launches.

A sum of n terms takes three or four launches where each is an element of a table, and not three a term. Tables are
long: of large tensors they are made piece by piece.
"""
from functools import cache

from mindtorch._core.constants import Table
from mindtorch._core.space import MOST, fits
from mindtorch._ops.derivatives import ops


def in_pieces(width, compute, out, *operands):
    """compute(*operands, out), which makes tables `width` times as large: of so many elements at once as may be.

    Where one piece is enough operands may have other shapes than `out`.
    """
    if fits(out, width):
        return compute(*operands, out)
    count = max(MOST // width, 1)
    result = ops.empty_like(out).reshape(-1)
    flat = [operand.expand(out.shape).reshape(-1) for operand in operands]
    for start in range(0, out.numel(), count):
        size = min(count, out.numel() - start)
        compute(*(operand.narrow(0, start, size) for operand in flat), result.narrow(0, start, size))
    return out.copy_(result.view(out.shape))


@cache
def tables(make, *key):
    """Of float32 and of float64."""
    return Table(make, *key, 0), Table(make, *key, 1)
