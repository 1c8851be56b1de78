"""Operators on DTensors: which placements their tensors need, and the call on this rank's parts."""
from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch
from mindtorch import Tensor
from mindtorch._core.autograd.engine import in_backward
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._options import ReduceOp
from mindtorch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from mindtorch.distributed.tensor._redistribute import redistribute_local_tensor
from mindtorch.distributed.tensor._rules import Call, strategies_of
from mindtorch.distributed.tensor._utils import compute_local_shape, cut_dim
from mindtorch.distributed.tensor.placement_types import Partial, Replicate, _StridedShard
from mindtorch.utils._python_dispatch import _disable_current_modes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["implicit_replication", "run_operator", "spec_of"]

# Arguments that are the shape of the result: a rank passes that of its part.
_SHAPES = {"view": "size", "_unsafe_view": "size", "reshape": "shape", "expand": "size", "new_zeros": "size",
           "new_ones": "size", "new_full": "size", "new_empty": "size"}
_LOCAL_STEP_COST = 1e-3     # of a step without communication: more than no step, less than any communication


class implicit_replication:
    """Within it plain tensors are taken as DTensors that every rank has whole.

    Example:
        >>> mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
        >>> sharded = dist.tensor.distribute_tensor(torch.ones(2), mesh, [dist.tensor.Shard(0)])
        >>> with dist.tensor.experimental.implicit_replication():
        ...     total = sharded + torch.ones(2)
        >>> total.full_tensor()
        tensor([2., 2.])
    """

    depth = 0

    def __enter__(self) -> None:
        implicit_replication.depth += 1

    def __exit__(self, *_: object) -> None:
        implicit_replication.depth -= 1


class _Plan(NamedTuple):
    """Placements that the tensors are brought to, what the results are, and what is called with which shapes.

    Without the mesh: an equal one may have other groups later.
    """

    inputs: list[tuple]
    results: list[tuple[tuple, TensorMeta] | None]
    replaced: dict[str, tuple[int, ...]]
    compute: Callable | None


def spec_of(tensor: Tensor, mesh: Any = None) -> DTensorSpec:
    """The spec of a DTensor; a plain tensor is whole on every rank of the mesh."""
    spec = getattr(tensor, "_spec", None)
    return spec or DTensorSpec(mesh, (Replicate(),) * mesh.ndim,
                               TensorMeta(tensor.shape, tensor.stride(), tensor.dtype))


# --- what a call needs ------------------------------------------------------------------------------------------------

def _cost(now, goal, size):
    """Roughly how many elements are sent."""
    if now == goal:
        return 0
    if isinstance(now, Replicate):
        return _LOCAL_STEP_COST
    if isinstance(goal, Partial):
        return math.inf
    reduces_all = isinstance(now, Partial) and (isinstance(goal, Replicate) or now.reduce_op.startswith("norm_"))
    return _LOCAL_STEP_COST + size * (2 if reduces_all else 1)


def _tensors(values):
    """(argument, spec) of all tensors."""
    for name, value in values:
        for each in value if isinstance(value, tuple) and not isinstance(value, DTensorSpec) else (value,):
            if isinstance(each, DTensorSpec):
                yield name, each


def _map(value, function):
    """The value with function(each) in place of each spec or tensor; lists stay lists."""
    if isinstance(value, (DTensorSpec, Tensor)):
        return function(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, mindtorch.Size):
        return type(value)(_map(each, function) for each in value)
    return value


def _meta(spec):
    shape, stride, dtype = spec.tensor_meta
    return mindtorch.empty_strided(tuple(shape), stride, dtype=dtype, device="meta")


def _as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


_placements_of_program: dict[Any, Callable] = {}       # operator -> function, by register_sharding


def register_placements(func: Any, function: Callable) -> None:
    """Let `function` say on which placements an operator computes."""
    _placements_of_program[func] = function
    _plan.cache_clear()


def _given_placements(func, values):
    """What the program's function gives for these arguments, or None without one."""
    function = _placements_of_program.get(func)
    if function is None:
        return None
    by_name = {argument.name for argument in func._schema.arguments if argument.kwarg_only}
    return function(*[value for name, value in values.items() if name not in by_name],
                    **{name: value for name, value in values.items() if name in by_name})


@lru_cache(maxsize=4096)
def _plan(func, values, implicit):
    name = func._schema.name.partition("::")[2]
    written = [argument.name for argument in func._schema.arguments
               if argument.alias_info is not None and argument.alias_info.is_write]
    with _disable_current_modes():      # no operators of the program
        metas = {key: _map(value, _meta) for key, value in values}
        if "device" in metas:
            metas["device"] = mindtorch.device("meta")
        results = [TensorMeta(each.shape, each.stride(), each.dtype) if isinstance(each, Tensor) else None
                   for each in _as_list(func(**metas))]
    found, given = list(_tensors(values)), dict(values)
    mesh = found[0][1].mesh
    inputs, outputs = [[] for _ in found], [[] for _ in results]
    compute, sharded_over = None, 1
    placements = _given_placements(func, given)
    for dim, parts in enumerate(mesh.shape):
        strided = next((spec.placements[dim] for _, spec in found if isinstance(spec.placements[dim], _StridedShard)),
                       None)
        call = Call(name.removesuffix("_") if written else name, given, found, results, parts * sharded_over, dim,
                    strided, placements)
        best = min(strategies_of(call), key=lambda strategy: _cost_of(strategy, found, written, dim), default=None)
        if best is None:
            raise RuntimeError(f"{func}: the function given to register_sharding has no placements for these arguments")
        for places, (argument, _) in zip(inputs, found, strict=True):
            places.append(best.inputs[argument])
        for places, place in zip(outputs, best.outputs, strict=True):
            places.append(place)
        compute = compute or best.compute
        sharded_over *= parts if any(cut_dim(place) is not None for place in best.inputs.values()) else 1
    made = [meta and (tuple(places), meta) for meta, places in zip(results, outputs, strict=True)]
    replaced = {}
    if name in _SHAPES:
        replaced[_SHAPES[name]] = compute_local_shape(results[0].shape, mesh, made[0][0])
    return _Plan([tuple(places) for places in inputs], made, replaced, compute)


def _cost_of(strategy, found, written, dim):
    cost = 0
    for name, spec in found:
        now, goal = spec.placements[dim], strategy.inputs[name]
        cost += _cost(now, goal, math.prod(spec.shape))
        if name in written and now != goal:      # and back
            cost += _cost(goal, now, math.prod(spec.shape))
            if goal != strategy.outputs[0]:
                return math.inf
    return cost


# --- the call ---------------------------------------------------------------------------------------------------------

def _hashable(value):
    return tuple(_hashable(each) for each in value) if isinstance(value, (list, tuple)) and not isinstance(
        value, DTensorSpec) else value


def _check_plain(func, tensor):
    """Numbers may be plain tensors, and what operators and derivatives of ours have made."""
    if tensor.dim() and not implicit_replication.depth and func.namespace == "aten" and not in_backward():
        raise RuntimeError(f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor "
                           "before calling distributed operators!")


def run_operator(kind: type, func: Any, args: tuple, kwargs: dict) -> Any:
    """What `func` gives for arguments with DTensors, of the class `kind`."""
    names = [argument.name for argument in func._schema.arguments]
    values = {**dict(zip(names, args, strict=False)), **kwargs}
    if func._schema.name.partition("::")[2].startswith(("_foreach_", "_fused_", "_amp_foreach_")) and any(
            isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor) for value in values.values()):
        return _run_on_lists(kind, func, values)
    tensors = []
    _map(list(values.values()), tensors.append)
    mesh = next(each for each in tensors if isinstance(each, kind)).device_mesh
    for each in tensors:
        if not isinstance(each, kind):
            _check_plain(func, each)
        elif each.device_mesh != mesh:
            raise NotImplementedError(f"{func}: DTensor does not support cross-mesh operation yet!")
    if not any("Tensor" in str(each.type) for each in func._schema.returns):
        return func(**{key: _map(value, lambda each: each.full_tensor() if isinstance(each, kind) else each)
                       for key, value in values.items()})
    signature = tuple((key, _hashable(_map(value, lambda each: spec_of(each, mesh)))) for key, value in values.items())
    plan = _plan(func, signature, bool(implicit_replication.depth))
    locals_ = iter([_local(each, places, mesh) for each, places in zip(tensors, plan.inputs, strict=True)])
    arguments = {key: _map(value, lambda each: next(locals_)) for key, value in values.items()} | plan.replaced
    writes = next((key for argument in func._schema.arguments for key in (argument.name,)
                   if argument.alias_info is not None and argument.alias_info.is_write), None)
    result = func(**arguments) if plan.compute is None else plan.compute(mesh, **arguments)
    if writes is not None:
        return _written(values[writes], arguments[writes], plan.results[0][0])
    made = [each if spec is None else kind(each, DTensorSpec(mesh, *spec), requires_grad=False)
            for each, spec in zip(_as_list(result), plan.results, strict=True)]
    return type(result)(made) if type(result) in (list, tuple) else tuple(made) if isinstance(
        result, tuple) else made[0]


def _local(tensor, places, mesh):
    spec = getattr(tensor, "_spec", None)
    if spec is None:
        return redistribute_local_tensor(tensor, tensor.shape, mesh, (Replicate(),) * mesh.ndim, places)
    return redistribute_local_tensor(tensor._local_tensor, spec.shape, mesh, spec.placements, places)


def _written(tensor, local, placements):
    """The tensor that an operator wrote to, in the placements that it had."""
    if tensor._spec.placements != placements:
        local = redistribute_local_tensor(local, tensor.shape, tensor._spec.mesh, placements, tensor._spec.placements)
        tensor._local_tensor.copy_(local)
    return tensor


def _run_on_lists(kind, func, values):
    """An operator that changes lists of tensors, element by element: the tensors of a place follow the first list's."""
    first = next(value for value in values.values() if isinstance(value, (list, tuple)))

    def local(value):
        if not isinstance(value, (list, tuple)) or not value or not isinstance(value[0], Tensor):
            return value.full_tensor() if isinstance(value, kind) else value
        return [each if not isinstance(each, kind) else each.full_tensor() if each.dim() == 0 != like.dim()
                else _local(each, like.placements, like.device_mesh) if isinstance(like, kind) else each.full_tensor()
                for each, like in zip(value, first, strict=True)]

    result = func(**{key: local(value) for key, value in values.items()})
    if "found_inf" in values and func._schema.name.startswith("aten::_amp_"):       # by any rank
        for mesh in {each.device_mesh for each in first if isinstance(each, kind)}:
            for group in mesh.get_all_groups():
                collectives.all_reduce(values["found_inf"], ReduceOp.MAX, group)
    return result
