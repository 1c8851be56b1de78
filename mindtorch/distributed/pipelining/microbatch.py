"""torch.distributed.pipelining.microbatch: batches cut into microbatches, and results put together."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindtorch import Tensor, cat, tensor
from mindtorch._submodules import module_getattr
from mindtorch.utils._pytree import tree_flatten, tree_map, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks", "sum_reducer"]


@dataclass(frozen=True)
class TensorChunkSpec:
    """A tensor is cut, or put together, along a dimension.

    Arguments:
        split_dim: the dimension that is cut

    Example:
        >>> microbatch = dist.pipelining.microbatch
        >>> spec = microbatch.TensorChunkSpec(split_dim=1)
        >>> args, _ = microbatch.split_args_kwargs_into_chunks((torch.ones(2, 4),), None, 2, (spec,))
        >>> args[0][0].shape
        torch.Size([2, 2])
    """

    split_dim: int

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """The specs of positional arguments, by their dimensions."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """The specs of keyword arguments, by their dimensions."""
        return tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Each microbatch has the whole value."""


class _CustomReducer:
    """Results of microbatches become one: `reduce_fn(value so far, result)`, from `init_value` on."""

    def __init__(self, init_value: Any, reduce_fn: Callable) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    """A reducer of losses."""


sum_reducer = _LossReducer(tensor(0.0), lambda total, loss: total + loss)


def _split_tensor(tensor: Tensor, spec: TensorChunkSpec, num_chunks: int) -> tuple[Tensor, ...]:
    size = tensor.size(spec.split_dim)
    if size < num_chunks:
        raise AssertionError(f"Tensor size {size} is smaller than num_chunks")
    return tensor.tensor_split(num_chunks, spec.split_dim)


def _chunks(value, spec, count):
    if isinstance(spec, TensorChunkSpec) and isinstance(value, Tensor):
        return _split_tensor(value, spec, count)
    if spec is _Replicate or isinstance(spec, _Replicate):
        return [value] * count
    raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")


def _split(values, specs, count):
    """`count` values of the form of `values`."""
    if specs is None:
        specs = tree_map(lambda each: TensorChunkSpec(0) if isinstance(each, Tensor) else _Replicate(), values)
    if len(values) != len(specs):
        raise AssertionError(f"{values} has {len(values)} entries, but its chunk spec {specs} has {len(specs)}")
    leaves, form = tree_flatten(values)
    chunks = [_chunks(leaf, spec, count) for leaf, spec in zip(leaves, tree_flatten(specs)[0], strict=True)]
    return [tree_unflatten([parts[number] for parts in chunks], form) for number in range(count)]


def split_args_kwargs_into_chunks(
        args: tuple, kwargs: dict[str, Any] | None, chunks: int, args_chunk_spec: tuple | None = None,
        kwargs_chunk_spec: dict | None = None) -> tuple[list[tuple], list[dict]]:
    """The arguments of each microbatch. Without a spec tensors are cut along dimension 0, all else is given whole.

    Arguments:
        args: the arguments
        kwargs: the arguments by name
        chunks: the number of parts
        args_chunk_spec: how arguments are cut: a TensorChunkSpec for each; None cuts dimension 0
        kwargs_chunk_spec: how arguments by name are cut

    Example:
        >>> args, _ = dist.pipelining.microbatch.split_args_kwargs_into_chunks((torch.arange(4), "all"), None, chunks=2)
        >>> args
        [(tensor([0, 1]), 'all'), (tensor([2, 3]), 'all')]
    """
    return _split(tuple(args), args_chunk_spec, chunks), _split(kwargs or {}, kwargs_chunk_spec, chunks)


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """One result of those of all microbatches. Without a spec tensors are put together along dimension 0.

    Arguments:
        chunks: the parts
        chunk_spec: how each result is put together

    Example:
        >>> dist.pipelining.microbatch.merge_chunks([torch.zeros(2), torch.ones(2)], None)
        tensor([0., 0., 1., 1.])
    """
    specs, form = tree_flatten(chunks[0] if chunk_spec is None else chunk_spec)
    if chunk_spec is None:
        specs = [TensorChunkSpec(0)] * len(specs)
    rows = [tree_flatten(chunk)[0] for chunk in chunks]
    for chunk, row in zip(chunks, rows, strict=True):
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
    return tree_unflatten([_merged(spec, values) for spec, values in zip(specs, zip(*rows, strict=True), strict=True)],
                          form)


def _merged(spec, values):
    if isinstance(spec, TensorChunkSpec):
        return cat(values, spec.split_dim)
    if isinstance(spec, _CustomReducer):
        result = spec.init_value
        for value in values:
            result = spec.reduce_fn(result, value)
        return result
    for value in values:
        if not value == values[0]:
            raise AssertionError(f"Expected {values[0]}, got {value}")
    return values[0]


__getattr__ = module_getattr(__name__)
