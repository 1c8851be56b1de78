"""torch.masked: reductions that leave out the elements whose mask is False. Without a mask, all take part."""
from __future__ import annotations

import functools
from math import inf, nan
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.formats import sparse_coo, strided
from mindtorch._core.operators.autocast import without_autocast
from mindtorch._core.tensor.dtype import float32
from mindtorch._refusals.modules import module_getattr as _module_getattr
from mindtorch._sparse.tensors import coordinates, make
from mindtorch._tensor.docstrings import complete as _complete_docstrings

if TYPE_CHECKING:
    from mindtorch import Tensor

_where = _OPS["where"]

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]


def _filled(input, mask, value, dtype=None):
    """The input in the dtype asked for, with `value` where it is masked out."""
    input = input.to(dtype or input.dtype)
    if mask is None:
        return input
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return _where(mask.bool(), input, input.new_full((), value))


_NEED_MASK = ("prod", "amax", "amin")


def _of_layouts(function):
    """The function, for sparse inputs and masks too. Without a mask the elements that the input holds take part."""
    @functools.wraps(function)
    def run(input, *args, mask=None, **kwargs):
        if mask is not None and mask.layout is not strided:
            mask = mask.to_dense()
        if input.layout is strided:
            return function(input, *args, mask=mask, **kwargs)
        name = function.__name__
        if mask is None and name in _NEED_MASK:
            shown = "amax" if input.layout is sparse_coo and name == "amin" else name       # as torch has it
            raise ValueError(f"masked {shown} expects explicit mask for {str(input.layout).removeprefix('torch.')} "
                             "tensor input")
        mask = _mask_of_sparse(input) if mask is None else mask
        result = function(input.to_dense(), *args, mask=mask, **kwargs)
        if name in _NEED_MASK and result.dim():         # what nothing takes part in is not held
            where = {key: value for key, value in kwargs.items() if key in ("dim", "keepdim")}
            result = _where(amax(mask.expand(input.shape).int(), *args, **where).bool(), result, 0)
        return result if result.dim() != 2 and input.layout is not sparse_coo else result.to_sparse(layout=input.layout)
    return run


def _mask_of_sparse(sparse):
    """Which elements a sparse tensor holds."""
    indices, values = coordinates(sparse.detach())
    return make(sparse_coo, (indices,), values.new_ones(values.shape).bool(), sparse.shape).to_dense()


_REDUCTIONS = {"sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp"}


def _canonical_dim(dim, ndim):
    """Dimensions counted from 0, in order; all of them where none is named."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    dims = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        if d % ndim in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        dims.append(d % ndim)
    return tuple(sorted(dims))


def _input_mask(input, *args, mask=None, **kwargs):
    """The mask in the shape of the input."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.bool().expand(input.shape)


def _output_mask(op, input, *args, **kwargs):
    """Which results of a function of this module come from an element that takes part."""
    inner = _input_mask(input, **kwargs)
    if op.__name__ not in _REDUCTIONS:
        return inner
    place = int(op.__name__ == "norm")
    dim = args[place] if len(args) > place else kwargs.get("dim", -1 if op.__name__ == "median" else None)
    for d in reversed(_canonical_dim(dim, input.dim())):
        inner = inner.any(d, keepdim=bool(kwargs.get("keepdim", False))) if inner.dim() else inner
    return inner


def _lowest(input):
    return -inf if input.is_floating_point() else _limits(input)[0]


def _highest(input):
    return inf if input.is_floating_point() else _limits(input)[1]


def _limits(input):
    info = mindtorch.iinfo(input.dtype)
    return info.min, info.max


_IDENTITIES = {"sum": 0, "cumsum": 0, "norm": 0, "prod": 1, "cumprod": 1}
_IDENTITIES |= dict.fromkeys(("amax", "argmax", "logaddexp", "logsumexp"), _lowest)
_IDENTITIES |= dict.fromkeys(("amin", "argmin"), _highest)


def _limit(op_name, input, mask):
    """The least or largest number of the dtype, the identity of a reduction that compares; None without a mask."""
    if mask is None:
        return None
    _input_mask(input, mask=mask)                   # refuses a mask that does not fit
    if input.dtype is mindtorch.bool:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    return _IDENTITIES[op_name](input)


def _reduction_identity(op_name, input, *args):
    """The value that changes no result of a reduction, as a scalar tensor; None for mean, var and std.

    NumPy wants it as `initial`. An order of `norm` may follow. NotImplementedError where there is none.
    """
    op_name = op_name.rpartition(".")[2]            # it may be "masked.sum"
    if op_name in ("mean", "var", "std"):
        return None
    if op_name == "median":
        return mindtorch.tensor(nan, device=input.device)
    value = _IDENTITIES.get(op_name)
    if value is None:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    if op_name == "norm" and args and args[0] == -inf:
        value = inf
    if callable(value):
        value = -inf if op_name == "logsumexp" and input.is_complex() else _limit(op_name, input, input)
    return mindtorch.tensor(value, dtype=input.dtype, device=input.device)


@_of_layouts
@without_autocast
def sum(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
        mask: Tensor | None = None) -> Tensor:
    """The sum; 0 where nothing takes part.

    Example:
        >>> torch.masked.sum(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor(4.)
    """
    return _filled(input, mask, 0, dtype).sum(_canonical_dim(dim, input.dim()), keepdim=bool(keepdim), dtype=dtype)


@_of_layouts
def prod(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The product; 1 where nothing takes part.

    Example:
        >>> torch.masked.prod(torch.tensor([2.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor(6.)
    """
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = mindtorch.int64
    result = _filled(input, mask, 1, dtype)
    for d in reversed(_canonical_dim(dim, input.dim())):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


@without_autocast
def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Sums so far along `dim`.

    Example:
        >>> torch.masked.cumsum(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor([1., 1., 4.])
    """
    _canonical_dim(dim, input.dim())
    return _filled(input, mask, 0, dtype).cumsum(dim, dtype=dtype or input.dtype)


@without_autocast
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Products so far along `dim`.

    Example:
        >>> torch.masked.cumprod(torch.tensor([2.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor([2., 2., 6.])
    """
    _canonical_dim(dim, input.dim())
    return _filled(input, mask, 1, dtype).cumprod(dim, dtype=dtype or input.dtype)


@_of_layouts
def amax(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The largest element; the lowest number of the dtype where nothing takes part.

    Example:
        >>> torch.masked.amax(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor(3.)
    """
    filled = _filled(input, mask, _limit("amax", input, mask), dtype)
    return filled.amax(_canonical_dim(dim, input.dim()), bool(keepdim))


@_of_layouts
def amin(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The smallest element; the highest number of the dtype where nothing takes part.

    Example:
        >>> torch.masked.amin(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([False, True, True]))
        tensor(3.)
    """
    filled = _filled(input, mask, _limit("amin", input, mask), dtype)
    return filled.amin(_canonical_dim(dim, input.dim()), bool(keepdim))


def argmax(input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The index of the largest element, in the dtype of the input as torch has it.

    Example:
        >>> torch.masked.argmax(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor(2.)
    """
    filled = _filled(input, mask, _limit("argmax", input, mask), dtype)
    return filled.argmax(dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The index of the smallest element, in the dtype of the input as torch has it.

    Example:
        >>> torch.masked.argmin(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([False, True, True]))
        tensor(2.)
    """
    filled = _filled(input, mask, _limit("argmin", input, mask), dtype)
    return filled.argmin(dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input, dim, keepdim, mask):
    """How many elements take part."""
    present = input.new_ones(input.shape).long() if mask is None else mask.expand(input.shape).long()
    return present.sum(_canonical_dim(dim, input.dim()), keepdim=keepdim)


@_of_layouts
@without_autocast
def mean(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The mean; NaN where nothing takes part.

    Example:
        >>> torch.masked.mean(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor(2.)
    """
    if not (dtype or input.dtype).is_floating_point and not (dtype or input.dtype).is_complex:
        raise ValueError(f"mean expects dtype to be floating point or complex, got {dtype or input.dtype}")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dim, bool(keepdim), mask)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The lower of the middle elements; NaN where nothing takes part, which is a ValueError of other dtypes.

    Example:
        >>> torch.masked.median(torch.tensor([1.0, 5.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
        tensor(1.)
    """
    if input.is_floating_point():
        return _filled(input, mask, nan, dtype).nanmedian(dim, bool(keepdim))[0]
    found = median(input.float(), dim, keepdim=keepdim, mask=mask)
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


@without_autocast
def var(input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: int | float | None = None,
        keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The variance; NaN where too little takes part.

    Example:
        >>> torch.masked.var(torch.tensor([1.0, 9.0, 3.0]), 0, unbiased=False, mask=torch.tensor([True, False, True]))
        tensor(1.)
    """
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of 'unbiased' or 'correction' can be given")
    correction = (1 if unbiased is None else int(bool(unbiased))) if correction is None else correction
    if not (dtype or input.dtype).is_floating_point and not (dtype or input.dtype).is_complex:
        dtype = float32
    average = mean(input, dim, keepdim=True, dtype=dtype, mask=mask)
    distance = input - average
    squares = distance * distance if not distance.is_complex() else distance * distance.conj()
    total = sum(squares, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    count = (_count(input, dim, bool(keepdim), mask) - correction).clamp(min=0)     # a correction may be a fraction
    return (total / count).to(total.dtype)


@without_autocast
def std(input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: int | None = None,
        keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The standard deviation; NaN where too little takes part.

    Example:
        >>> torch.masked.std(torch.tensor([1.0, 9.0, 3.0]), 0, unbiased=False, mask=torch.tensor([True, False, True]))
        tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


@without_autocast
def norm(input: Any, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The vector norm; that of zeros where nothing takes part.

    Example:
        >>> torch.masked.norm(torch.tensor([3.0, 5.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False, True]))
        tensor(5.)
    """
    from mindtorch.linalg import vector_norm
    dims = _canonical_dim(dim, input.dim())
    return vector_norm(_filled(input, mask, inf if ord == -inf else 0, dtype), ord, dims, bool(keepdim))


@without_autocast
def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None,
              mask: Tensor | None = None) -> Tensor:
    """The elements that take part, divided by their norm or by `eps`.

    Arguments:
        eps: a small number that avoids a division by zero

    Example:
        >>> torch.masked.normalize(torch.tensor([3.0, 5.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False, True]))
        tensor([0.6000, 0.0000, 0.8000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0, dtype) / size.clamp(min=eps)


@without_autocast
def logsumexp(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
              mask: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials; -inf where nothing takes part.

    Example:
        >>> torch.masked.logsumexp(torch.zeros(3), 0, mask=torch.tensor([True, False, True]))
        tensor(0.6931)
    """
    dims = _canonical_dim(dim, input.dim())
    if input.dtype is mindtorch.bool:
        _limit("logsumexp", input, mask)            # refuses it
    numbers = input if input.is_floating_point() or input.is_complex() else input.to(float32)
    total = _filled(numbers, mask, -inf, dtype).logsumexp(dims, keepdim)
    return total.to(dtype or input.dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of two exponentials.

    Arguments:
        other: the second tensor
        input_mask: the mask of the input
        other_mask: the mask of the second tensor

    Example:
        >>> mask = torch.tensor([True, False])
        >>> torch.masked.logaddexp(torch.zeros(2), torch.zeros(2), input_mask=mask)
        tensor([0.6931, 0.0000])
    """
    first = _filled(input, input_mask, _limit("logaddexp", input, input_mask))
    return first.logaddexp(_filled(other, other_mask, _limit("logaddexp", other, other_mask))).to(dtype or input.dtype)


@without_autocast
def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The shares of those that take part.

    Example:
        >>> torch.masked.softmax(torch.zeros(3), 0, mask=torch.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    _canonical_dim(dim, input.dim())
    return _filled(input, mask, _limit("amax", input, mask), dtype).softmax(dim)


@without_autocast
def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithms of the shares of those that take part.

    Example:
        >>> torch.masked.log_softmax(torch.zeros(3), 0, mask=torch.tensor([True, False, True]))
        tensor([-0.6931,    -inf, -0.6931])
    """
    _canonical_dim(dim, input.dim())
    return _filled(input, mask, _limit("amax", input, mask), dtype).log_softmax(dim)


@without_autocast
def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The shares of the negated elements that take part.

    Example:
        >>> torch.masked.softmin(torch.zeros(3), 0, mask=torch.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    _canonical_dim(dim, input.dim())
    return (-_filled(input, mask, _limit("amin", input, mask), dtype)).softmax(dim)


_complete_docstrings(globals(), "masked")


if not TYPE_CHECKING:        # a type checker would take any name for one of this module
    __getattr__ = _module_getattr(__name__)
