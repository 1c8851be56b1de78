"""Reductions over segments: runs of slices, given by lengths or offsets. Device-neutral."""
import functools
import math

from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.factories import arange
from mindtorch._ops.composite.common import run_for_each_sample, scalar_type, wrap_dim

_where = _OPS["where"]
_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}      # the results of empty segments
_SCATTERED = {"prod": "prod", "max": "amax", "min": "amin"}


@run_for_each_sample
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """The segments of `data` along `axis`, each reduced by sum, mean, max, min or prod.

    lengths: (..., segments), or offsets: (..., segments + 1), for each row of the dimensions before `axis`. An empty
    segment gives `initial`; without one the reduction's identity, NaN for a mean. `unsafe`: lengths are not checked.
    """
    axis = wrap_dim(axis, data.dim())
    given = lengths if offsets is None else offsets
    _check(data, reduce, given, indices, axis)
    if offsets is not None:
        starts, lengths = offsets[..., :-1], offsets.diff(dim=-1)
    else:
        starts = lengths.cumsum(-1) - lengths
        if not unsafe:
            if lengths.numel() and (lengths < 0).any():
                raise RuntimeError("lengths contains negative value!")
            if not (lengths.sum(-1) == data.shape[axis]).all():
                raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to "
                                   "data.size(lengths.dim()-1) when !unsafe.")
    # All rows are flattened: for each slice in a segment its index in `data`, and its segment.
    rows = math.prod(data.shape[:axis])
    counts = lengths.long().reshape(-1)
    segments = _arange(counts.numel(), data).repeat_interleave(counts)
    first_of_row = (_arange(rows, data) * data.shape[axis]).unsqueeze(1)
    first_slices = (starts.long().reshape(rows, -1) + first_of_row).reshape(-1) - (counts.cumsum(0) - counts)
    indices = first_slices[segments] + _arange(segments.numel(), data)
    taken = data.reshape(-1, *data.shape[axis + 1:])[indices]
    reduced = _function().apply(taken, segments, counts, reduce, initial)
    return drop_base(reduced.reshape(*lengths.shape, *data.shape[axis + 1:]))


def _check(data, reduce, given, indices, axis):
    if reduce not in _EMPTY:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if data.dim() < given.dim():
        raise RuntimeError("Expected data.dim() >= lengths_value.dim() to be true, but got false.")
    if axis != given.dim() - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    if not data.is_floating_point():
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{scalar_type(data.dtype)}'")
    if scalar_type(given.dtype) not in ("Int", "Long"):
        raise NotImplementedError('"_segment_reduce_lengths_cpu_kernel1" not implemented for '
                                  f"'{scalar_type(given.dtype)}'")


def _arange(size, like):
    return arange(size, device=like.device)


def _column(values, like):
    """One number for each slice of `like`, with dimensions that broadcast."""
    return values.reshape(-1, *(1,) * (like.dim() - 1))


@functools.cache
def _function():
    """The reduction of slices by segment. As in torch, it can be differentiated once."""
    from mindtorch.autograd import Function
    from mindtorch.autograd.function import once_differentiable

    class SegmentReduce(Function):
        @staticmethod
        def forward(ctx, taken, segments, counts, reduce, initial):
            result = taken.new_full((counts.numel(), *taken.shape[1:]), _EMPTY[reduce] if initial is None else initial)
            if reduce in _SCATTERED:
                result = result.index_reduce(0, segments, taken, _SCATTERED[reduce])
            else:
                result = result.index_add(0, segments, taken)
            if reduce == "mean":
                result = result / _column(counts if initial is None else counts.clamp(min=1), result)
            ctx.save_for_backward(taken, segments, counts, result)
            ctx.reduce, ctx.initial = reduce, 1.0 if initial is None else initial
            return result

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            taken, segments, counts, result = ctx.saved_tensors

            def summed(values):
                """For each slice the sum of `values` over its segment."""
                return grad.new_zeros(grad.shape).index_add(0, segments, values.to(grad.dtype))[segments]

            grads = grad[segments]
            if ctx.reduce == "mean":
                grads = grads / _column(counts[segments], grads)
            elif ctx.reduce in ("max", "min"):
                hit = (taken == result[segments]) | taken.isnan()
                grads = _where(hit, grads / summed(hit), 0.0)
            elif ctx.reduce == "prod":
                # The product of the others is not result / x where x is 0 or NaN.
                special = (taken == 0) | taken.isnan()
                regular = result.new_full(result.shape, ctx.initial).index_reduce(
                    0, segments, _where(special, 1.0, taken), "prod")[segments]
                others = _where(summed(special) == 1, 1.0,
                               _where(summed(taken.isnan()) > taken.isnan(), math.nan, 0.0))
                grads = grads * _where(special, regular * others, result[segments] / taken)
            return grads, None, None, None, None

    return SegmentReduce


FUNCTIONS = {"segment_reduce": segment_reduce, "_segment_reduce": segment_reduce}
METHODS = {}
