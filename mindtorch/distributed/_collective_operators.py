"""torch.ops._c10d_functional, c10d_functional and c10d: the collectives as operators, by torch's schemas.

mindtorch's own functions do not go through them. They are there for programs that call them, or count them by
CommDebugMode.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.distributed import _functional_collectives as functional
from mindtorch.distributed import _options as options
from mindtorch.library import Library

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch import Tensor

__all__ = ["COLLECTIVES"]

# Method of a ProcessGroup -> its operator in c10d, and that of the functional collective which calls it.
COLLECTIVES = {"allreduce": ("allreduce_", "all_reduce"),
               "allreduce_coalesced": ("allreduce_coalesced_", "all_reduce_coalesced"),
               "allgather": ("allgather_", "all_gather_into_tensor"),
               "_allgather_base": ("_allgather_base_", "all_gather_into_tensor"),
               "allgather_coalesced": ("allgather_coalesced_", "all_gather_into_tensor_coalesced"),
               "allgather_into_tensor_coalesced": ("allgather_into_tensor_coalesced_",
                                                   "all_gather_into_tensor_coalesced"),
               "reduce_scatter": ("reduce_scatter_", "reduce_scatter_tensor"),
               "_reduce_scatter_base": ("_reduce_scatter_base_", "reduce_scatter_tensor"),
               "reduce_scatter_tensor_coalesced": ("reduce_scatter_tensor_coalesced_",
                                                   "reduce_scatter_tensor_coalesced"),
               "broadcast": ("broadcast_", "broadcast"), "reduce": ("reduce_", "all_reduce"),
               "gather": ("gather_", "all_gather_into_tensor"), "scatter": ("scatter_", "broadcast"),
               "alltoall": ("alltoall_", "all_to_all_single"), "alltoall_base": ("alltoall_base_", "all_to_all_single")}

_GROUP = "__torch__.torch.classes.c10d.ProcessGroup process_group"
_OP = "__torch__.torch.classes.c10d.ReduceOp reduce_op"
_WORK = "__torch__.torch.classes.c10d.Work"
_END = "bool async_op=True, int timeout=-1"
_C10D = f"""
    allreduce_(Tensor[] tensors, {_GROUP}, {_OP}, Tensor? sparse_indices, {_END}) -> (Tensor[], {_WORK})
    allreduce_coalesced_(Tensor[] tensors, {_GROUP}, {_OP}, {_END}) -> {_WORK}
    allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, {_GROUP}, {_END}) -> (Tensor[][], {_WORK})
    _allgather_base_(Tensor output_tensor, Tensor input_tensor, {_GROUP}, {_END}) -> (Tensor, {_WORK})
    allgather_coalesced_(Tensor[][] output_lists, Tensor[] input_list, {_GROUP}, bool async_op=True) -> {_WORK}
    allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {_GROUP}, bool async_op=True) -> {_WORK}
    reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {_GROUP}, {_OP}, {_END}) -> (Tensor[], {_WORK})
    _reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, {_GROUP}, {_OP}, {_END}) -> (Tensor, {_WORK})
    reduce_scatter_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, {_GROUP}, {_OP}, {_END}) -> {_WORK}
    broadcast_(Tensor[] tensors, {_GROUP}, int root_rank, int root_tensor, {_END}) -> (Tensor[], {_WORK})
    reduce_(Tensor[] tensors, {_GROUP}, {_OP}, int root_rank, int root_tensor, {_END}) -> {_WORK}
    gather_(Tensor[][] output_tensors, Tensor[] input_tensors, {_GROUP}, int root_rank, {_END}) -> {_WORK}
    scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {_GROUP}, int root_rank, {_END}) -> (Tensor[], {_WORK})
    alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, {_GROUP}, {_END}) -> (Tensor[], {_WORK})
    alltoall_base_(Tensor output, Tensor input, {_GROUP}, int[] output_split_sizes, int[] input_split_sizes, {_END}) \
-> {_WORK}
"""
_TENSORS = ("output_tensors", "input_tensors", "tensors", "output_tensor", "input_tensor", "output_lists", "input_list",
            "outputs", "inputs", "output", "input", "output_split_sizes", "input_split_sizes")
_OPTIONS = {"allreduce": options.AllreduceOptions, "allreduce_coalesced": options.AllreduceCoalescedOptions,
            "reduce": options.ReduceOptions, "broadcast": options.BroadcastOptions, "gather": options.GatherOptions,
            "scatter": options.ScatterOptions, "reduce_scatter": options.ReduceScatterOptions,
            "_reduce_scatter_base": options.ReduceScatterOptions,
            "reduce_scatter_tensor_coalesced": options.ReduceScatterOptions, "alltoall": options.AllToAllOptions,
            "alltoall_base": options.AllToAllOptions}
_FIELDS = {"async_op": "asyncOp", "reduce_op": "reduceOp", "root_rank": "rootRank"}


def _method(name, schema):
    """The operator that calls a method of a group."""
    names = [each.split("=")[0].rpartition(" ")[2] for each in schema[schema.index("(") + 1:schema.index(") ->")]
             .split(", ")]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        opts = _OPTIONS.get(name, options.AllgatherOptions)()
        for key, field in _FIELDS.items():
            if key in given:
                setattr(opts, field, given[key])
        tensors = [given[key] for key in names if key in _TENSORS]
        work = getattr(given["process_group"], name)(*tensors, opts)
        return (tensors[0], work) if schema.endswith(f", {_WORK})") else work
    return call


def _wait(tensor: Tensor) -> Tensor:
    return functional.wait_tensor(tensor)


def _all_gather(input: Tensor, group_size: int, group_name: Any) -> Tensor:
    return functional.all_gather_single(input, 0, group_name)


def _reduce_scatter(input: Tensor, reduce_op: str, group_size: int, group_name: Any) -> Tensor:
    return functional.reduce_scatter_single(input, reduce_op, 0, group_name)


def _reduce_scatter_coalesced(inputs: Any, reduce_op: str, group_size: int, group_name: Any) -> Any:
    return functional.reduce_scatter_single_coalesced(inputs, reduce_op, [0] * len(inputs), group_name)


_FUNCTIONAL: dict[str, Callable] = {
    "all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor": functional.all_reduce,
    "all_reduce_(Tensor(a!) input, str reduce_op, Any group_name) -> Tensor(a!)": functional.all_reduce_inplace,
    "all_reduce_coalesced(Tensor[] inputs, str reduce_op, Any group_name) -> Tensor[]": functional.all_reduce_coalesced,
    "all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor": _all_gather,
    "all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, Any group_name) -> Tensor[]":
        lambda inputs, group_size, group_name: functional.all_gather_single_coalesced(inputs, group_name),
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor": _reduce_scatter,
    "reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, Any group_name) -> Tensor[]":
        _reduce_scatter_coalesced,
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) "
    "-> Tensor": functional.all_to_all_single,
    "broadcast(Tensor input, int src, Any group_name) -> Tensor": functional.broadcast,
    "wait_tensor(Tensor tensor) -> Tensor": _wait}


def _ranks(function, *count):
    """The older operators name a group by a tag and ranks."""
    def call(*args: Any) -> Any:
        *given, tag, ranks, size = args
        return function(*given, *([size] if count else ()), functional._resolve_group(list(ranks), tag))
    return call


_LEGACY: dict[str, Callable] = {
    "all_reduce(Tensor self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor":
        _ranks(functional.all_reduce),
    "all_reduce_coalesced(Tensor[] self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor[]":
        _ranks(functional.all_reduce_coalesced),
    "all_gather_into_tensor(Tensor shard, str tag, int[] ranks, int group_size) -> Tensor": _ranks(_all_gather, True),
    "all_gather_into_tensor_coalesced(Tensor[] input, str tag, int[] ranks, int group_size) -> Tensor[]":
        _ranks(functional.all_gather_single_coalesced),
    "reduce_scatter_tensor(Tensor input, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor":
        _ranks(_reduce_scatter, True),
    "reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor[]":
        _ranks(_reduce_scatter_coalesced, True),
    "all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, str tag, int[] ranks, "
    "int group_size) -> Tensor": _ranks(functional.all_to_all_single),
    "broadcast(Tensor self, int src, str tag, int[] ranks, int group_size) -> Tensor": _ranks(functional.broadcast),
    "wait_tensor(Tensor self) -> Tensor": _wait}

_libraries = []
for _namespace, _functions in (("_c10d_functional", _FUNCTIONAL), ("c10d_functional", _LEGACY)):
    _library = Library(_namespace, "DEF")
    for _schema, _function in _functions.items():
        _library.define(_schema)
        _library.impl(_schema.partition("(")[0], _function, "CompositeImplicitAutograd")
    _libraries.append(_library)
_library = Library("c10d", "DEF")
_schemas = {schema.strip().partition("(")[0]: schema.strip() for schema in _C10D.strip().splitlines()}
for _name, (_operator, _) in COLLECTIVES.items():
    _library.define(_schemas[_operator])
    _library.impl(_operator, _method(_name, _schemas[_operator]), "CompositeImplicitAutograd")
_libraries.append(_library)
