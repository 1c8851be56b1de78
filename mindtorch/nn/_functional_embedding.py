"""Rows of a table by their numbers, alone and in bags, with torch's shapes and errors."""

import math
import warnings
from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._ops.composite.common import run_for_each_sample
from mindtorch._ops.composite.nn import at_least_float32
from mindtorch._ops.operators import ops as _ops

__all__ = ["embedding", "embedding_bag", "one_hot"]

_embedding = _OPS["embedding"]


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` that `input` names; the row `padding_idx` gets no gradient."""
    if padding_idx is not None:
        if padding_idx >= weight.size(0) or padding_idx < -weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx += weight.size(0) if padding_idx < 0 else 0
    if max_norm is not None:
        _ops.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def one_hot(tensor: Any, num_classes: Any = -1) -> Any:
    """1 where the last dimension's index is the element, 0 elsewhere."""
    return _ops.one_hot(tensor, num_classes)


# --- bags ------------------------------------------------------------------------------------------------------------

@run_for_each_sample
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` that each bag names.

    Bags are the rows of a 2-D `input`, or start at `offsets` in a 1-D one. What is `padding_idx` counts nowhere; a bag
    without rows gives zeros.
    """
    if str(weight.dtype) == "torch.int64" and input.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
                      "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.", stacklevel=2)
        weight, input = input, weight
    _check_bags(input, weight, offsets, per_sample_weights)
    if input.dim() == 2:
        offsets = _ops.arange(0, input.numel(), max(input.size(1), 1), dtype=input.dtype, device=input.device)
        offsets = offsets if input.size(1) else _ops.zeros_like(input.sum(1))
        input, include_last_offset = input.reshape(-1), False
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        _check_offsets(input, offsets, include_last_offset)
    _check_mode(mode, scale_grad_by_freq, sparse, per_sample_weights)
    if max_norm is not None:
        _ops.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    padding = -1 if padding_idx is None else _padding_row(padding_idx, weight.size(0))
    count = offsets.numel() - bool(include_last_offset)
    bags = _ops.searchsorted(offsets, _ops.arange(input.numel(), dtype=offsets.dtype, device=input.device), right=True)
    try:
        rows = at_least_float32(_embedding(weight, input, padding, scale_grad_by_freq, sparse))
    except IndexError as error:
        raise _no_such_row(input.tolist(), weight.size(0), mode == "max" or padding_idx is not None) from error
    kept = (input != padding) & (bags > 0) & (bags <= count)        # offsets may be none, or end the last bag early
    return _pooled(rows, bags - 1, kept, count, mode, per_sample_weights).to(weight.dtype)


def _no_such_row(indices, count, checked_one_by_one):
    place, index = next((place, index) for place, index in enumerate(indices) if not 0 <= index < count)
    if checked_one_by_one:
        return RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {index}")
    return RuntimeError(f"Index {place} of input takes value {index} which is not in the valid range [0, {count})")


def _pooled(rows, bags, kept, count, mode, weights):
    """The rows of each bag as one, of those that are kept; `weights` scale them."""
    bags = _ops.where(kept, bags, _ops.full_like(bags, count))      # one more bag takes the others
    if mode == "max":
        return _greatest(rows, bags, count)
    if weights is not None:
        rows = rows * weights.unsqueeze(1)
    sums = _ops.zeros((count + 1, rows.size(1)), dtype=rows.dtype, device=rows.device).index_add(0, bags, rows)
    if mode == "mean":
        ones = _ops.ones(tuple(bags.shape), dtype=rows.dtype, device=rows.device)
        sizes = _ops.zeros((count + 1,), dtype=rows.dtype, device=rows.device).index_add(0, bags, ones)
        sums = sums / sizes.clamp(min=1).unsqueeze(1)
    return drop_base(sums.narrow(0, 0, count))


def _greatest(rows, bags, count):
    """The maximum of each bag in each column: the first of equal elements, which alone gets the gradient."""
    number, shape = rows.size(0), (count + 1, rows.size(1))
    values, bags = rows.detach(), bags.unsqueeze(1).expand(rows.shape)
    best = _ops.full(shape, -math.inf, dtype=rows.dtype, device=rows.device)
    best = best.scatter_reduce(0, bags, values, "amax").gather(0, bags)
    places = _ops.arange(number, device=rows.device).unsqueeze(1).expand(rows.shape)
    places = _ops.where((values == best) | values.isnan(), places, _ops.full_like(places, number))
    first = _ops.full(shape, number, dtype=places.dtype, device=rows.device)
    first = first.scatter_reduce(0, bags, places, "amin").narrow(0, 0, count)
    chosen = _ops.cat([rows, _ops.zeros((1, rows.size(1)), dtype=rows.dtype, device=rows.device)])
    return chosen.gather(0, first)


def _check_bags(input, weight, offsets, per_sample_weights):
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must "
                         f"have the same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if input.dim() == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                         f"length sequences. However, found offsets of type {type(offsets)}")
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.dim() == 1 and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    _check_types("indices", input, "Long, Int", ("torch.int64", "torch.int32"))
    if not weight.is_floating_point():
        _check_types("weight", weight, "Half, BFloat16, Float, Double", ())
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {weight.type()} does not equal "
                           f"{per_sample_weights.type()} (while checking arguments for embedding_bag)")


def _check_types(name, tensor, wanted, types):
    if str(tensor.dtype) not in types:
        raise RuntimeError(f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: "
                           f"{wanted}; but got {tensor.type()} instead (while checking arguments for embedding_bag)")


def _check_offsets(input, offsets, include_last_offset):
    """Waits for the device: where bags start is a number that only it knows."""
    if include_last_offset and offsets.numel() == 0:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.numel() == 0 or offsets.is_meta:
        return
    first, last = offsets[0].item(), offsets[-1].item()
    if first != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                           f"position 0. However, got {first}")
    if last > input.numel():
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {input.numel()} but got offsets[-1] of "
                           f"{last}")


def _check_mode(mode, scale_grad_by_freq, sparse, per_sample_weights):
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                                  "GitHub.")


def _padding_row(padding_idx, count):
    if not -count <= padding_idx < count:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {-count} through {count - 1}, but "
                           f"got {padding_idx}")
    return padding_idx % count
