"""Statistics, differences and integrals, written with other operators. Device-neutral."""
from math import inf, nan, prod
from numbers import Number

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.operators.autocast import with_autocast_policy, without_autocast
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.dtype import float64, get_default_dtype, int64, uint8, uint16, uint32, uint64
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import _require_tensors, to_out, wrap_dim
from mindtorch._ops.composite.common import scalar_type as _name
from mindtorch._ops.composite.shape import check_dims_once


def _corrected(name, input, dim, correction, keepdim, out=None):
    """Moments with a fractional correction, which ACLNN lacks: those with correction 0, scaled."""
    dims = range(input.dim()) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    count = prod(input.shape[d] for d in dims)
    scale = count / max(count - correction, 0) if count > correction else inf
    if name.startswith("std"):
        scale = scale ** 0.5
    result = _ATEN[name](input, dim, correction=0, keepdim=keepdim)
    if not isinstance(result, tuple):
        return to_out(name, result * scale, out)
    first, mean = out or (None, None)
    return to_out(name, result[0] * scale, first), to_out(name, result[1], mean)


# --- moments ---------------------------------------------------------------------------------------------------------

def _moment(name):
    """torch's function over the row, with `unbiased`, the older name of correction=1 and correction=0."""
    operator = _ATEN[name]

    def function(input, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None,
                 **options):
        dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            if correction is not None or not isinstance(unbiased, bool):
                raise TypeError(f"{name}() received an invalid combination of arguments")
            correction = int(unbiased)
        if isinstance(correction, float) and not correction.is_integer() and isinstance(input, TensorBase):
            return _corrected(name, input, dim, correction, keepdim, **options)
        return operator(input, dim, correction=correction, keepdim=keepdim, **options)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(input, dim=None, unbiased=True, keepdim=False, *, correction=1)."
    return function


var, std, var_mean, std_mean = (_moment(name) for name in ("var", "std", "var_mean", "std_mean"))


@without_autocast
def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of the elements that are not NaN."""
    _require_tensors("nanmean", input=input)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got "
                           f"{_name(input.dtype)}")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
                           f"complex dtype. Got: {_name(dtype)}")
    count = input.isnan().logical_not().sum(dim, keepdim)
    total = _OPS["nansum"](input, dim, keepdim, dtype=dtype, out=out)
    return total / count if out is None else total.div_(count)


def count_nonzero(input, dim=None):
    """How many elements are not 0."""
    _require_tensors("count_nonzero", input=input)
    return (input != 0).sum(dim)


# --- quantiles -------------------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name, input, q, interpolation):
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if str(input.dtype) not in ("torch.float32", "torch.float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if input.dtype is not q.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                           f"{interpolation}")
    if not q.is_meta and not ((q >= 0) & (q <= 1)).all().item():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")


def _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan):
    if not isinstance(q, TensorBase):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = input.new_tensor(q)
    _check_quantile(name, input, q, interpolation)
    lines = input.reshape(-1) if dim is None else (input if input.dim() else input.reshape(1)).movedim(dim, -1)
    lines = lines.sort(-1)[0]
    nan = lines.isnan()
    if ignore_nan:
        ranks = q * (nan.logical_not().sum(-1, keepdim=True) - 1).clamp(min=0)
    else:
        ranks = (q * (lines.shape[-1] - 1)).expand(*lines.shape[:-1], q.numel())
        ranks = ranks.masked_fill(nan.any(-1, keepdim=True), lines.shape[-1] - 1)
    result = _interpolated(lines, ranks.to(input.dtype), interpolation)
    if keepdim:
        position = dim if dim is not None else 0
        result = result.unsqueeze(position if position >= 0 else position - 1) if input.dim() else result
        for _ in range(input.dim() - 1 if dim is None else 0):
            result = result.unsqueeze(0)
    return drop_base(result.movedim(-1, 0) if q.dim() else result.squeeze(-1))


def _interpolated(lines, ranks, interpolation):
    """Values at fractional indices of sorted rows."""
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.long()
    values = lines.gather(-1, below)
    if interpolation not in ("linear", "midpoint"):
        return values
    weights = ranks - below if interpolation == "linear" else (ranks != below) * 0.5
    return values.lerp(lines.gather(-1, ranks.ceil().long()), weights.to(values.dtype))


@with_autocast_policy("quantile")
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """The quantiles `q` of rows, interpolated between neighbours in sorted order."""
    _require_tensors("quantile", input=input)
    return to_out("quantile", _quantile("quantile", input, q, dim, keepdim, interpolation, False), out)


@with_autocast_policy("nanquantile")
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """quantile of the elements that are not NaN."""
    _require_tensors("nanquantile", input=input)
    return to_out("nanquantile", _quantile("nanquantile", input, q, dim, keepdim, interpolation, True), out)


# --- covariance ------------------------------------------------------------------------------------------------------

def _check_weights(input, weights, name, integral):
    if weights.dim() > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                           f"{weights.dim()} dimensions")
    whole = not (weights.is_floating_point() or weights.is_complex()) and str(weights.dtype) != "torch.bool"
    if whole != integral:
        kind = "integral" if integral else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {_name(weights.dtype)} "
                           "dtype")
    if weights.numel() != input.shape[1]:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but "
                           f"got {weights.numel()} != {input.shape[1]}")
    if not bool((weights >= 0).all()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _weights(input, fweights, aweights):
    weights = fweights
    if fweights is not None:
        _check_weights(input, fweights, "fweights", True)
    if aweights is not None:
        _check_weights(input, aweights, "aweights", False)
        weights = aweights if fweights is None else fweights * aweights
    return weights


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables in rows and observations in columns."""
    _require_tensors("cov", input=input)
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} "
                           "dimensions")
    if str(input.dtype) == "torch.bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    rows = rows if rows.is_floating_point() or rows.is_complex() else rows.to(get_default_dtype())
    weights = _weights(rows, fweights, aweights)
    total = rows.shape[1] if weights is None else weights.sum()
    if weights is not None and not weights.is_meta and total.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = rows.mean(1) if weights is None else (rows * weights).sum(1) / total
    if weights is None or correction == 0 or aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    freedom = freedom.clamp(min=0) if isinstance(freedom, TensorBase) else max(freedom, 0)
    rows = rows - mean.unsqueeze(1)
    product = rows @ (rows if weights is None else rows * weights).t().conj()
    return (product / freedom).squeeze()


def corrcoef(input):
    """The correlation coefficients of variables in rows."""
    _require_tensors("corrcoef", input=input)
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.dim()} dimensions")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    deviation = deviation.real if deviation.is_complex() else deviation
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if c.is_complex():
        return _OPS["complex"](c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


# --- distances -------------------------------------------------------------------------------------------------------

@with_autocast_policy("dist")
def dist(input, other, p=2):
    """The p-norm of the difference."""
    _require_tensors("dist", input=input, other=other)
    return _ATEN["linalg_vector_norm"](input - other, p)


_CDIST_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1,
                "donot_use_mm_for_euclid_dist": 2}


@with_autocast_policy("cdist")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between the rows of two batches of matrices."""
    _require_tensors("cdist", x1=x1, x2=x2)
    if compute_mode not in _CDIST_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _ATEN["_cdist_forward"](x1, x2, p, _CDIST_MODES[compute_mode])


# --- differences and integrals ---------------------------------------------------------------------------------------

def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """The n-th differences of neighbours along `dim`."""
    _require_tensors("diff", input=input)
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [part for part in (prepend, input, append) if part is not None]
    if n == 0 and len(parts) == 1:
        return to_out("diff", input.clone(), out)
    along = wrap_dim(dim, input.dim())
    for part in parts:
        if part.dim() != input.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for position, (size, given) in enumerate(zip(input.shape, part.shape, strict=True)):
            if position != along and size != given:
                raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input "
                                   f"except along the differencing dimension; input.size({position}) = {size}, but got "
                                   f"tensor.size({position}) = {given}")
    result = _OPS["cat"](parts, dim) if len(parts) > 1 and n else input     # torch's 0-th difference is the input alone
    count = min(n, result.shape[dim])
    for left in range(count, 0, -1):
        length = result.shape[dim] - 1
        subtract = _OPS["logical_xor" if str(result.dtype) == "torch.bool" else "sub"]
        result = subtract(result.narrow(dim, 1, length), result.narrow(dim, 0, length), out=out if left == 1 else None)
    return result if count else to_out("diff", result.clone() if result is input else result, out)


def _spacing(y, x, dim):
    """Distances of the points x, in a shape that broadcasts with the intervals of y."""
    steps = diff(x, dim=-1 if x.dim() == 1 else dim)
    if x.dim() == 1 and y.dim() > 1:
        shape = [1] * y.dim()
        shape[dim] = -1
        steps = steps.reshape(shape)
    return steps


def _check_samples(y, x, name):
    if str(y.dtype) == "torch.bool" or (x is not None and str(x.dtype) == "torch.bool"):
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")


def _trapezoids(y, x, dx, dim, name):
    _check_samples(y, x, name)
    length = y.shape[dim] - 1
    if x is not None and 1 < x.dim() < y.dim():
        x = x.reshape((1,) * (y.dim() - x.dim()) + tuple(x.shape))
    if x is not None and x.dim() == 1 and x.shape[0] != y.shape[dim]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    length = max(length, 0)
    heights = y.narrow(dim, 0, length) + y.narrow(dim, min(1, y.shape[dim]), length)
    return heights * (_spacing(y, x, dim) if x is not None else dx) / 2.


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral of y along `dim` by the trapezoidal rule, over the points `x` or in steps of `dx`."""
    _require_tensors("trapezoid", y=y)
    if y.shape[dim] == 0:
        return y.detach().sum(dim, dtype=y.dtype)
    if x is not None:
        dim = wrap_dim(dim, y.dim())        # of y, where x has more dimensions
        return _trapezoids(y, x, dx, dim, "trapezoid").sum(dim)
    _check_samples(y, x, "trapezoid")
    _check_real_step(dx, "trapezoid")
    # The ends count half. Integers are summed in int64 before anything is halved.
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx


def trapz(y, x=None, *, dx=1, dim=-1):
    """Another name of trapezoid."""
    return trapezoid(y, dx=dx, dim=dim) if x is None else trapezoid(y, x, dim=dim)


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integrals of y up to each point but the first."""
    _require_tensors("cumulative_trapezoid", y=y)
    if x is None:
        _check_real_step(dx, "cumulative_trapezoid")
        if y.shape[dim] == 0:
            return y.new_empty(y.shape)
    dim = wrap_dim(dim, y.dim())
    return _trapezoids(y, x, dx, dim, "cumulative_trapezoid").cumsum(dim)


def _check_real_step(dx, name):
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


def _edge_slopes(input, dim, steps, edge_order):
    """The slopes at the first and the last point; `steps` are the distances of the first and of the last two points."""
    length, slopes = input.shape[dim], []
    for inwards, (near, far) in ((1, steps[0]), (-1, steps[1])):
        start = 0 if inwards == 1 else length - 1
        first, second = input.narrow(dim, start, 1), input.narrow(dim, start + inwards, 1)
        slope = (second - first) / near
        if edge_order == 2:
            third = input.narrow(dim, start + 2 * inwards, 1)
            share = near / (near + far) if not isinstance(near, Number) or near + far else nan
            slope = slope * (1 + share) - (third - second) / far * share
        slopes.append(slope * inwards)
    return slopes


def _slopes(input, dim, spacing, edge_order):
    """Second-order slopes inside, one-sided ones at the edges. `spacing` is a step or the points' coordinates."""
    length = input.shape[dim]
    before, at, after = (input.narrow(dim, i, length - 2) for i in range(3))
    if isinstance(spacing, TensorBase) and spacing.dim():
        shape = [-1 if d == dim % input.dim() else 1 for d in range(input.dim())]
        steps = diff(spacing)
        left, right = steps.narrow(0, 0, length - 2).reshape(shape), steps.narrow(0, 1, length - 2).reshape(shape)
        inner = (before * (-right / (left * (left + right))) + at * ((right - left) / (left * right))
                 + after * (left / (right * (left + right))))
        picked = [steps.select(0, i) for i in (0, 1 % (length - 1), length - 2, (length - 3) % (length - 1))]
        ends = (picked[0], picked[1]), (picked[2], picked[3])
    else:
        inner, ends = (after - before) / (2 * spacing), ((spacing, spacing),) * 2
    first, last = _edge_slopes(input, dim, ends, edge_order)
    return _OPS["cat"]([first, inner, last], dim)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The slopes of a function given at points, for each of the dimensions."""
    _require_tensors("gradient", input=input)
    if input.dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    spacing = 1 if spacing is None else spacing
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                           f"'self.dim() = {input.dim()}', but got a list of length {len(spacings)}")
    check_dims_once([wrap_dim(d, input.dim()) for d in dims])
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_slopes(input, d, step, edge_order) for d, step in zip(dims, spacings, strict=True))


def hash_tensor(input, dim=(), *, keepdim=False, mode=0, out=None):
    """The exclusive or of the bits that the elements have as float64 or int64."""
    _require_tensors("hash_tensor", input=input)
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if out is not None and out.dtype is not uint64:
        raise RuntimeError(f"Expected result to be of dtype uint64, but got {_name(out.dtype)}")
    named = (dim,) if isinstance(dim, int) else tuple(dim or ())
    dims = [wrap_dim(d, input.dim()) for d in named]
    check_dims_once(dims)
    if not input.numel() and not dims:
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")
    for d in named if input.dim() else ():
        if not input.shape[d]:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    narrow = input.is_floating_point() and input.dtype.itemsize == 1
    if input.is_complex() or narrow or input.dtype in (uint16, uint32, uint64):
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{_name(input.dtype)}'")
    dims = dims if dims and input.dim() else list(range(input.dim()))
    words = input.detach().to(float64).view(int64) if input.is_floating_point() else input.to(int64)
    result = _OPS["amax"](words, dims, keepdim)         # it has the strides of a reduction
    kept = [d for d in range(input.dim()) if d not in dims]
    words = words.permute((*kept, *dims)).reshape(*(input.shape[d] for d in kept), prod(input.shape[d] for d in dims))
    while words.shape[-1] > 1:
        half = words.shape[-1] // 2
        rest = words.narrow(-1, 2 * half, words.shape[-1] % 2)
        words = _OPS["cat"]([words.narrow(-1, 0, half) ^ words.narrow(-1, half, half), rest], -1)
    return to_out("hash_tensor", result.copy_(words.reshape(result.shape)).view(uint64), out)


_FUNCTIONS_AND_METHODS = (var, std, nanmean, count_nonzero, quantile, nanquantile, cov, corrcoef, diff, dist,
                          hash_tensor)
FUNCTIONS = {f.__name__: f for f in (*_FUNCTIONS_AND_METHODS, var_mean, std_mean, trapezoid, trapz,
                                     cumulative_trapezoid, gradient, cdist)}
METHODS = {f.__name__: f for f in _FUNCTIONS_AND_METHODS}
