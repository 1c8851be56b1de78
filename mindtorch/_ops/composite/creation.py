"""torch.logspace, and histograms, over the edges that linspace makes. Device-neutral."""
import warnings
from math import floor, isfinite, pi, prod

from mindtorch import return_types
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.formats import contiguous_format, strided
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.dtype import bfloat16, float16, float32, float64, get_default_dtype
from mindtorch._core.tensor.factories import arange as _arange
from mindtorch._core.tensor.factories import full as _full
from mindtorch._core.tensor.factories import linspace as _linspace
from mindtorch._core.tensor.factories import ones as _ones
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import (
    _require_tensors,
    c_type,
    require_tuple,
    run_for_each_sample,
    scalar_type,
    to_dtype,
    to_out,
)


def _range_to_out(function, result, out):
    """As `to_out`, but an out= of as many elements keeps its shape, and nobody is warned where another changes it."""
    if out is not None and not out.requires_grad:
        out = out if out.numel() == result.numel() else out.resize_(result.shape)
        result = result.view(out.shape)
    return to_out(function, result, out)


@run_for_each_sample
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """`base` to the power of `steps` numbers at equal distances from `start` to `end`."""
    dtype = to_dtype(dtype) or (out.dtype if out is not None else _linspace(start, end, 0).dtype)
    real = dtype.is_floating_point or dtype.is_complex
    device = out.device if out is not None and device is None else device
    exponents = _linspace(start, end, steps, dtype=dtype if real else float64, layout=layout, device=device)
    result = _range_to_out("logspace", _OPS["pow"](float(base), exponents).to(dtype), out)
    result = result.pin_memory() if pin_memory and out is None else result
    return result.requires_grad_() if requires_grad else result


def range_(start, end, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
           pin_memory=False):
    """Deprecated: start + i * step up to and including `end`."""
    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is "
                  "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
                  "[start, end).", UserWarning, stacklevel=2)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (isfinite(start) and isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    dtype = to_dtype(dtype) or (out.dtype if out is not None else get_default_dtype())
    device = out.device if out is not None and device is None else device
    if not (dtype.is_floating_point or dtype.is_complex):
        start, end, step = int(start), int(end), int(step)
    steps = floor((end - start) / step)
    beyond = start + steps * step + (step / 2 if dtype.is_floating_point else (step > 0) - (step < 0))
    made = _arange(start, beyond, step, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    result = _range_to_out("range", made, out)
    return result.requires_grad_() if requires_grad else result


# --- histograms ------------------------------------------------------------------------------------------------------

def _check_histogram(name, input, weight):
    _require_tensors(name, input=input)
    if not input.is_floating_point():
        raise NotImplementedError(f'"{name}_cpu" not implemented for \'{scalar_type(input.dtype)}\'')
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input tensor should have at least 2 dimensions")
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"{name}: if weight tensor is provided, input tensor and weight tensor should have the same "
                           f"dtype, but got input {input.dtype}, and weight {weight.dtype}")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(f"{name}: if weight tensor is provided it should have the same shape as the input tensor "
                           f"excluding its innermost dimension, but got input with shape {list(input.shape)}, and "
                           f"weight with shape {list(weight.shape)}")


def _even_edges(name, points, bins, bounds):
    """The edges of `bins` equal bins for each column, over the bounds given or those of the data. Waits for these."""
    if any(count < 1 for count in bins):
        raise RuntimeError(f"{name}(): bins must be > 0, but got {min(bins)} for dimension {bins.index(min(bins))}")
    columns = points.shape[1]
    if bounds is not None:
        if len(bounds) != 2 * columns:
            raise RuntimeError(f"{name}: for a {columns}-dimensional histogram range should have {2 * columns} "
                               f"elements, but got {len(bounds)}")
        pairs = [(bounds[2 * i], bounds[2 * i + 1]) for i in range(columns)]
    elif points.shape[0]:
        pairs = list(zip(points.amin(0).tolist(), points.amax(0).tolist(), strict=True))
    else:
        pairs = [(0.0, 1.0)] * columns
    edges = []
    for (low, high), count in zip(pairs, bins, strict=True):
        if not (isfinite(low) and isfinite(high)):
            raise RuntimeError(f"{name}: dimension {len(edges)}'s range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(f"{name}: min should not exceed max, but got min {low} max {high} for dimension "
                               f"{len(edges)}")
        margin = 0.5 if low == high else 0
        edges.append(_linspace(low - margin, high + margin, count + 1, dtype=points.dtype, device=points.device))
    return edges


def _counted(points, edges, weight, density):
    """The sum of the weights in each cell; the last bin of a dimension includes its upper edge."""
    sizes = [edge.numel() - 1 for edge in edges]
    weight = points.new_ones(points.shape[0]) if weight is None else weight.reshape(-1)
    cell = 0
    for column, (edge, size) in enumerate(zip(edges, sizes, strict=True)):
        values = points.select(1, column).contiguous()
        bin_ = _OPS["searchsorted"](edge, values, right=True) - 1
        bin_ = _OPS["where"](values == edge[-1], size - 1, bin_)
        weight = weight.masked_fill((bin_ < 0) | (bin_ >= size), 0)
        cell = cell * size + bin_.clamp(0, size - 1)
    counts = drop_base(points.new_zeros(prod(sizes)).index_add(0, cell, weight).reshape(sizes))
    if density:
        counts = counts / counts.sum()
        for column, edge in enumerate(edges):
            shape = [-1 if i == column else 1 for i in range(len(edges))]
            counts = counts / (edge[1:] - edge[:-1]).reshape(shape)
    return counts


def _histogram(name, input, bins, bounds, weight, density):
    _check_histogram(name, input, weight)
    columns = input.shape[-1]
    points = input.reshape(-1, columns)
    if isinstance(bins, int):
        bins = [bins] * columns
    for dim, edges in enumerate(bins):
        if isinstance(edges, TensorBase) and edges.dtype is not input.dtype:
            raise RuntimeError(f"torch.{name}: input tensor and bins tensors should have the same dtype, but got input "
                               f"with dtype {c_type(input.dtype)} and bins for dimension {dim} with dtype "
                               f"{c_type(edges.dtype)}")
    if len(bins) != columns:
        raise RuntimeError(f"{name}: expected {columns} sequences of bin edges for a {columns}-dimensional histogram "
                           f"but got {len(bins)}")
    edges = list(bins) if isinstance(bins[0], TensorBase) else _even_edges(name, points, list(bins), bounds)
    return _counted(points, edges, weight, density), edges


@run_for_each_sample
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """Weights of the elements by bin, and the edges of the bins, which are `bins` or that many equal ones."""
    if isinstance(bins, TensorBase) and bins.dim() != 1:
        raise RuntimeError(f"histogramdd: bins tensor should have one dimension, but got {bins.dim()} dimensions")
    bins = [bins]
    weight = None if weight is None else weight.reshape(-1)
    if out is not None:
        require_tuple("histogram", out)
    counts, (edges,) = _histogram("histogramdd", input.reshape(-1, 1), bins, range, weight, density)
    if out is not None:
        counts, edges = to_out("histogram", counts, out[0]), to_out("histogram", edges, out[1])
    elif edges is bins[0]:          # the edges of histogramdd are the tensors that were given, these are a copy
        edges = edges.clone(memory_format=contiguous_format)
    return return_types.histogram((counts, edges))


@run_for_each_sample
def histogramdd(input, bins, range=None, weight=None, density=False):
    """Weights of the points, which are the rows, by cell, and the edges of the bins in each dimension."""
    counts, edges = _histogram("histogramdd", input, bins, range, weight, density)
    return return_types.histogramdd((counts, tuple(edges)))


# --- windows: periodic unless asked otherwise, computed in the dtype, step by step as in torch ------------------------

def _window(make, **fixed):
    name = f"{make.__name__.strip('_')}_window"

    def window(window_length, periodic=True, *args, dtype=None, layout=None, device=None, pin_memory=False,
               requires_grad=False, **options):
        options = {**fixed, **dict(zip(fixed, args, strict=False)), **options}
        dtype = to_dtype(dtype) or get_default_dtype()
        if layout not in (None, strided):
            raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
        if not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        last = window_length if periodic else window_length - 1
        if window_length > 1:
            made = make(_arange(last + 1, dtype=dtype, device=device), last, **options)[:window_length]
        else:
            made = _ones(window_length, dtype=dtype, device=device)
        made = made.pin_memory() if pin_memory else made
        return made.requires_grad_() if requires_grad else made
    window.__name__ = name
    window.__doc__ = f"torch.signal.windows.{name.removesuffix('_window')}, periodic by default."
    return window


def _rounded(number, dtype):
    return _full((), number, dtype=dtype).item()


def _hamming(n, last, alpha, beta):
    frequency, factor, offset = (_rounded(number, n.dtype) for number in (2 * pi / last, -beta, alpha))
    return n.mul_(frequency).cos_().mul_(factor).add_(offset)


def _hann(n, last):
    return _hamming(n, last, 0.5, 0.5)


def _blackman(n, last):
    n.mul_(_rounded(pi / last, n.dtype))
    return (n * 4).cos_().mul_(_rounded(0.08, n.dtype)) - (n * 2).cos_().mul_(0.5) + _rounded(0.42, n.dtype)


def _bartlett(n, last):
    n.mul_(_rounded(2 / last, n.dtype))[last // 2 + 1:].mul_(-1).add_(2)
    return n


def _kaiser(n, last, beta):
    from mindtorch.signal.windows import kaiser
    dtype = float32 if n.dtype in (float16, bfloat16) else n.dtype
    return kaiser(last + 1, beta=beta, dtype=dtype, device=n.device).to(n.dtype)


FUNCTIONS = {"logspace": logspace, "range": range_, "histogram": histogram, "histogramdd": histogramdd,
             "hann_window": _window(_hann), "bartlett_window": _window(_bartlett),
             "blackman_window": _window(_blackman), "hamming_window": _window(_hamming, alpha=0.54, beta=0.46),
             "kaiser_window": _window(_kaiser, beta=12.0)}
METHODS = {"histogram": histogram}
