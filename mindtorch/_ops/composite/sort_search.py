"""Sorting, searching and counting, written with other operators. Device-neutral."""
from itertools import chain
from itertools import combinations as _combinations
from itertools import combinations_with_replacement as _with_replacement

import numpy as np

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.python.conversion import from_numpy
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.attributes import result_type as _result_type
from mindtorch._core.tensor.dtype import _promote_types, int64
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.composite.common import (
    _require_tensors,
    require_list,
    run_for_each_sample,
    scalar_type,
    to_out,
    with_names,
    with_out,
)


@with_out
def argsort(input, dim=-1, descending=False, *, stable=None):
    """The indices that sort `input` along `dim`."""
    _require_tensors("argsort", input=input)
    return _OPS["sort"](input, dim, descending, stable=stable)[1]


def msort(input, *, out=None):
    """`input` sorted along its first dimension."""
    _require_tensors("msort", input=input)
    if out is None:
        return _OPS["sort"](input, 0)[0]
    return _OPS["sort"](input, 0, out=(out, input.new_empty(0, dtype=int64)))[0]


@with_names(self="input")
def searchsorted(sorted_sequence, input, *, side=None, sorter=None, **options):
    """The indices at which `input` would be inserted in sorted rows; both are compared in their common dtype."""
    if isinstance(sorted_sequence, TensorBase):
        if isinstance(input, float) and not sorted_sequence.is_complex():
            sorted_sequence = sorted_sequence.to(_result_type(sorted_sequence, input))
        elif isinstance(input, TensorBase) and input.dtype is not sorted_sequence.dtype:
            common = _promote_types(sorted_sequence.dtype, input.dtype)
            sorted_sequence, input = sorted_sequence.to(common), input.to(common)
    return _OPS["searchsorted"](sorted_sequence, input, side=side, sorter=sorter, **options)


@with_names(self="input")
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the bucket, between sorted boundaries, that each element falls into."""
    _require_tensors("bucketize", boundaries=boundaries)
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


_FEW_PAIRS, _FEW_ELEMENTS = 1 << 14, 16      # so many are compared, more are sorted
_UNSEARCHED = ("Bool", "ComplexFloat", "ComplexDouble")


@with_names(element="elements", test_element="test_elements")
@with_out(same_dtype=True)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each element is among `test_elements`."""
    for one in (elements, test_elements):
        kind = scalar_type(one.dtype) if isinstance(one, TensorBase) else {bool: "Bool", complex: "ComplexDouble"}.get(
            type(one))
        if kind in _UNSEARCHED:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind}")
    if not isinstance(elements, TensorBase):
        found = (test_elements == elements).any()
    elif not isinstance(test_elements, TensorBase):
        found = elements == test_elements
    elif elements.numel() * test_elements.numel() <= _FEW_PAIRS or test_elements.numel() < _FEW_ELEMENTS:
        found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    else:
        dtype = _promote_types(elements.dtype, test_elements.dtype)
        ordered = test_elements.detach().reshape(-1).to(dtype).sort()[0]
        wanted = elements.detach().to(dtype)
        places = searchsorted(ordered, wanted).clamp(max=ordered.numel() - 1)
        found = ordered.take(places) == wanted
    return found.logical_not() if invert else found


# --- combinations ----------------------------------------------------------------------------------------------------

def combinations(input, r=2, with_replacement=False):
    """All combinations of `r` elements of a vector, one per row."""
    _require_tensors("combinations", input=input)
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    size = input.shape[0]
    if size ** min(r, 64) >= 2 ** 63:                   # torch's mask of all rows
        raise RuntimeError("numel: integer multiplication overflow")
    if size == 1 and (with_replacement or r == 1):
        return input.repeat(1, r)
    choose = _with_replacement if with_replacement else _combinations
    rows = [] if size < (1 if with_replacement else r) else choose(range(size), r)
    positions = from_numpy(np.fromiter(chain.from_iterable(rows), np.int64))
    return drop_base(input.index_select(0, positions.to(input.device)).reshape(-1, r))


def cartesian_prod(*tensors):
    """The Cartesian product of vectors, one element of it per row."""
    require_list(tensors)
    for one in tensors:
        if one.dim() != 1:
            raise RuntimeError("Expect a 1D vector, but got shape " + str(list(one.shape)))
    if len(tensors) == 1:
        return tensors[0]
    if len({one.dtype for one in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    sizes = [one.shape[0] for one in tensors]
    columns = [one.reshape([-1 if i == position else 1 for i in range(len(sizes))]).expand(sizes).reshape(-1)
               for position, one in enumerate(tensors)]
    return _OPS["stack"](columns, 1)


# --- counting and distinct elements ----------------------------------------------------------------------------------

def _requested(found, return_inverse, return_counts):
    values, inverse, counts = found
    chosen = [values, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices of `dim`, in order. Waits for the device to learn how many there are."""
    if dim is None:
        found = _ATEN["_unique2"](input, sorted, return_inverse, return_counts)
    else:
        found = _ATEN["unique_dim"](input, dim, sorted, return_inverse, return_counts)
    return _requested(found, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements, or slices of `dim`. Waits for the device to learn how many there are."""
    found = _ATEN["unique_consecutive"](input, return_inverse, return_counts, dim)
    return _requested(found, return_inverse, return_counts)


@run_for_each_sample
def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The first `size` indices of elements that are not 0, filled up with `fill_value`."""
    _require_tensors("nonzero_static", input=input)
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = input.new_empty((0, input.dim()), dtype=int64) if input.is_meta else input.nonzero()[:size]
    rest = found.new_full((size - found.shape[0], input.dim()), fill_value)
    return to_out("nonzero_static", _OPS["cat"]([found, rest]), out)


FUNCTIONS = {f.__name__: f for f in (argsort, msort, searchsorted, bucketize, isin, combinations, cartesian_prod,
                                     unique, unique_consecutive, nonzero_static)}
METHODS = {f.__name__: f for f in (argsort, msort, unique, unique_consecutive, nonzero_static)}
