"""torch.distributed.checkpoint.state_dict: states by the names that parameters have in the plain model.

So a state fits the model with and without DistributedDataParallel, and an optimizer's state fits however many ranks.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Tensor
from mindtorch import distributed as dist
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.checkpoint._nested_dict import flatten_state_dict, unflatten_state_dict
from mindtorch.distributed.fsdp import FullyShardedDataParallel, StateDictType
from mindtorch.distributed.fsdp.wrap import WRAPPED
from mindtorch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from mindtorch.nn import Module
    from mindtorch.optim import Optimizer

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
           "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]

FQNS_T = set[str]
PrimitiveType = Tensor | int | float | str
ValueType = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType] | dict[str, Any]
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]


@dataclass
class StateDictOptions:
    """What the functions of this module return and take.

    full_state_dict: whole tensors in place of DTensors. cpu_offload: tensors on the CPU; with full_state_dict rank 0
    alone gets them, and the others an empty dict. ignore_frozen_params: without parameters that require no gradient.
    strict: that of load_state_dict. broadcast_from_rank0: rank 0 alone is given the full state.
    flatten_optimizer_state_dict: names such as "state.layer.weight.exp_avg" in place of nested dicts.
    keep_submodule_prefixes: the names in a submodule begin with its own.

    Arguments:
        full_state_dict: whether whole tensors are given, in place of each rank's part
        cpu_offload: whether tensors are moved to the CPU
        ignore_frozen_params: whether parameters without gradients are left out
        keep_submodule_prefixes: whether names of `submodules` keep the names of modules around them
        strict: whether missing and unexpected names raise an error
        broadcast_from_rank0: whether rank 0 alone has the tensors and sends them to the others
        flatten_optimizer_state_dict: whether the state of optimizers gets names with dots
        dsd_fqn_modifiers: the name of a method of modules that changes names

    Example:
        >>> dist.checkpoint.state_dict.StateDictOptions(full_state_dict=True, cpu_offload=True).strict
        True
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options):
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


# --- names ------------------------------------------------------------------------------------------------------------

def _get_fqns(model: Module, name: str, dsd_fqn_modifiers: str = "_fqn_modifiers") -> set[str]:
    """The name of a parameter in the plain model, in a set, as torch has it."""
    kept, holder = [], model
    for part in name.split("."):
        if part not in WRAPPED and not (isinstance(holder, DistributedDataParallel) and part == "module"):
            kept.append(part)
        holder = getattr(holder, part, None)
    return {".".join(kept)}


def _plain_name(model, name):
    (plain,) = _get_fqns(model, name)
    return plain


def _parameter_names(model):
    """Parameter -> its name; one that has several names has the first."""
    return {parameter: _plain_name(model, name) for name, parameter in model.named_parameters()}


# --- whole tensors and parts ------------------------------------------------------------------------------------------

def _is_sharded(value):
    return hasattr(value, "full_tensor")


def _mapped(function, value):
    """`value` with `function` of each of its tensors; containers are copied."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: _mapped(function, each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(function, each) for each in value)
    return value


def _with_options(state, options):
    """The state with whole tensors and on the CPU where the options say so. All ranks call this."""
    if options.full_state_dict:
        state = _mapped(lambda tensor: tensor.full_tensor() if _is_sharded(tensor) else tensor, state)
        if options.cpu_offload and dist.is_initialized() and dist.get_rank() != 0:
            return {}
    return _mapped(lambda tensor: tensor.cpu(), state) if options.cpu_offload else state


def _taken_in(state, own, options):
    """A full state as this rank needs it: that of rank 0 if the options say so, DTensors where `own` has them."""
    flat, paths = flatten_state_dict(state)
    local = flatten_state_dict(own)[0]
    if options.broadcast_from_rank0 and dist.get_world_size() > 1:
        flat, paths = _from_rank0(flat, paths, local)
    return unflatten_state_dict({name: _like(value, local.get(name)) for name, value in flat.items()}, paths)


def _from_rank0(flat, paths, local):
    """Rank 0's flat state and its paths in every rank: one list of all but the tensors, and these one by one."""
    device = next((each.device for each in local.values() if isinstance(each, Tensor) and each.dim() and
                   not each.is_meta), None) or dist.distributed_c10d._get_pg_default_device()
    shapes = {name: (value.shape, value.dtype) for name, value in flat.items() if isinstance(value, Tensor)}
    described = [{name: value for name, value in flat.items() if name not in shapes}, shapes, paths]
    dist.broadcast_object_list(described)
    objects, shapes, paths = described
    for name, (shape, dtype) in shapes.items():
        objects[name] = (flat[name].detach().to(device).contiguous() if dist.get_rank() == 0
                         else mindtorch.empty(shape, dtype=dtype, device=device))
        dist.broadcast(objects[name], 0)
    return {name: objects[name] for name in paths}, paths


def _like(value, own):
    """A whole tensor, in parts on the ranks if this rank's own one is."""
    if not _is_sharded(own) or _is_sharded(value):
        return value
    from mindtorch.distributed import tensor
    return tensor.distribute_tensor(value.to(own.device), own.device_mesh, own.placements, src_data_rank=None)


# --- models -----------------------------------------------------------------------------------------------------------

def _own_state(model):
    """The state as this rank has it: FullyShardedDataParallel gives DTensors when it is asked for them."""
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        return model.state_dict()


@mindtorch.no_grad()
def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None,
                         options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state of a model, by the names in the plain model.

    Example:
        >>> list(dist.checkpoint.state_dict.get_model_state_dict(torch.nn.Linear(2, 1)))
        ['weight', 'bias']
    """
    options = _checked(options)
    state = {_plain_name(model, name): value for name, value in _own_state(model).items()}
    if options.ignore_frozen_params:
        for parameter, name in _parameter_names(model).items():
            if not parameter.requires_grad:
                state.pop(name, None)
    if submodules:
        prefixes = [_plain_name(model, name) + "." for name, module in model.named_modules() if module in submodules]
        state = {name if options.keep_submodule_prefixes else name.removeprefix(prefix): value
                 for name, value in state.items() for prefix in prefixes if name.startswith(prefix)}
    return _with_options(state, options)


@mindtorch.no_grad()
def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *,
                         options: StateDictOptions | None = None) -> Any:
    """Give a model the state of get_model_state_dict; the names that lacked or were too many.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> state = {"weight": torch.zeros(1, 2), "bias": torch.ones(1)}
        >>> dist.checkpoint.state_dict.set_model_state_dict(model, state)
        <All keys matched successfully>
        >>> model(torch.ones(2)).tolist()
        [1.0]
    """
    options = _checked(options)
    own = _own_state(model)
    names = {_plain_name(model, name): name for name in own}
    if options.full_state_dict:
        model_state_dict = _taken_in(model_state_dict, {plain: own[name] for plain, name in names.items()}, options)
    if not model_state_dict:
        return model.load_state_dict({}, strict=False)
    is_meta = any(isinstance(value, Tensor) and value.is_meta for value in own.values())
    return model.load_state_dict({names.get(plain, plain): value for plain, value in model_state_dict.items()},
                                 strict=options.strict, assign=options.full_state_dict and is_meta)


# --- optimizers -------------------------------------------------------------------------------------------------------

def _optimizers(optimizers):
    return tuple(optimizers) if isinstance(optimizers, Iterable) else (optimizers,)


def _init_optim_state(optim: Optimizer) -> None:
    """Have an optimizer make its state, by a step with gradients and rates of zero."""
    parameters = [parameter for group in optim.param_groups for parameter in group["params"]]
    if optim.state or any(parameter.grad is not None for parameter in parameters):
        return
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = mindtorch.zeros_like(parameter)
    rates = [(group, group["lr"]) for group in optim.param_groups if "lr" in group]
    for group, rate in rates:
        group["lr"] = mindtorch.zeros_like(rate) if isinstance(rate, Tensor) else 0.0
    optim.step(closure=None)
    for group, rate in rates:
        group["lr"] = rate
    optim.zero_grad(set_to_none=True)


def _named_state(names, optim):
    """The state of an optimizer, with names in the place of numbers."""
    state = optim.state_dict()
    order = [names[parameter] for group in optim.param_groups for parameter in group["params"]]
    return {"state": {order[number]: each for number, each in state["state"].items()},
            "param_groups": [{**group, "params": [order[number] for number in group["params"]]}
                             for group in state["param_groups"]]}


def _flat_groups(state):
    """State and groups as one flat dict; each parameter has the options of its group."""
    flat = {}
    for name, each in state["state"].items():
        for key, value in flatten_state_dict(each)[0].items():
            if not isinstance(value, (Tensor, int, float)):
                raise NotImplementedError("Flattening optimizer state_dict only supports tensor, int, float, dict "
                                          f"states now. Type is {type(value)}.")
            flat[f"state.{name}.{key}"] = value
    for group in state["param_groups"]:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"})
    return flat


def _nested_groups(flat, own):
    """What _flat_groups was given, for an optimizer whose own state is `own`."""
    groups = []
    for group in own["param_groups"]:
        values: dict[str, Any] = {}
        for name in group["params"]:
            for key in group:
                if key != "params" and f"param_groups.{name}.{key}" in flat:
                    value = flat[f"param_groups.{name}.{key}"]
                    if values.setdefault(key, value) != value:
                        raise RuntimeError("All the parameters in the same parameter group should have the same saved "
                                           f"param_group value. But {name}.{key} is {value} while other(s) is "
                                           f"{values[key]}.")
        groups.append({**values, "params": group["params"]})
    state = {}
    for name, each in own["state"].items():
        found, paths = {}, flatten_state_dict(each)[1]
        for key in paths:
            if f"state.{name}.{key}" in flat:
                found[key] = flat[f"state.{name}.{key}"]
        state[name] = unflatten_state_dict(found, paths)
    return {"state": state, "param_groups": groups}


@mindtorch.no_grad()
def get_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                             submodules: set[Module] | None = None,
                             options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state of a model's optimizers, by the names of the parameters in the plain model.

    Arguments:
        submodules: deprecated, not read

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        >>> state = dist.checkpoint.state_dict.get_optimizer_state_dict(model, optimizer)
        >>> sorted(state["state"])
        ['bias', 'weight']
    """
    options, names = _checked(options), _parameter_names(model)
    state: dict[str, Any] = {"state": {}, "param_groups": []}
    for optim in _optimizers(optimizers):
        _init_optim_state(optim)
        part = _named_state(names, optim)
        state["state"].update(part["state"])
        state["param_groups"] += part["param_groups"]
    return _with_options(_flat_groups(state) if options.flatten_optimizer_state_dict else state, options)


@mindtorch.no_grad()
def set_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer],
                             optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> None:
    """Give a model's optimizers the state of get_optimizer_state_dict.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), 0.1)
        >>> state = dist.checkpoint.state_dict.get_optimizer_state_dict(model, optimizer)
        >>> state["param_groups"][0]["lr"] = 0.5
        >>> dist.checkpoint.state_dict.set_optimizer_state_dict(model, optimizer, state)
        >>> optimizer.param_groups[0]["lr"]
        0.5
    """
    options, names = _checked(options), _parameter_names(model)
    for optim in _optimizers(optimizers):
        _init_optim_state(optim)
        own = _named_state(names, optim)
        if options.full_state_dict:
            is_flat = [bool(optim_state_dict) and "state" not in optim_state_dict]
            if options.broadcast_from_rank0 and dist.get_world_size() > 1:
                dist.broadcast_object_list(is_flat)
            taken = _taken_in(optim_state_dict, _flat_groups(own) if is_flat[0] else own, options)
            if not is_flat[0]:
                taken = {"state": {}, **taken}      # a flat dict has no place for an empty one
        else:
            taken = optim_state_dict
        if taken and "state" not in taken:
            taken = _nested_groups(taken, own)
        optim.load_state_dict(_numbered(taken, own, optim, options.strict))


def _numbered(state, own, optim, strict):
    """The part of a named state that an optimizer has, with numbers in the place of names."""
    numbers = {name: number for number, name in
               enumerate(name for group in own["param_groups"] for name in group["params"])}
    groups = []
    for place, group in enumerate(own["param_groups"]):
        found = next((each for each in state["param_groups"] if set(each["params"]) & set(group["params"])), None)
        if found is None and not group["params"]:
            found = state["param_groups"][place]
        groups.append({**group, **(found or {}), "params": [numbers[name] for name in group["params"]]})
    for group, described in zip(optim.param_groups, own["param_groups"], strict=True):
        for parameter, name in zip(group["params"], described["params"], strict=True):
            if strict and parameter.requires_grad and name in own["state"] and name not in state["state"]:
                raise RuntimeError(f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter "
                                   "requires gradients but has no saved optimizer state. To load anyway, use "
                                   "StateDictOptions(strict=False).")
    return {"state": {numbers[name]: each for name, each in state["state"].items() if name in numbers},
            "param_groups": groups}


# --- both -------------------------------------------------------------------------------------------------------------

def get_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                   submodules: set[Module] | None = None,
                   options: StateDictOptions | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """(get_model_state_dict, get_optimizer_state_dict).

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), 0.1)
        >>> of_model, of_optimizer = dist.checkpoint.state_dict.get_state_dict(model, optimizer)
        >>> sorted(of_model), sorted(of_optimizer)
        (['bias', 'weight'], ['param_groups', 'state'])
    """
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, options=options))


def set_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any],
                   optim_state_dict: dict[str, Any], options: StateDictOptions | None = None) -> Any:
    """set_model_state_dict and set_optimizer_state_dict; what the former returns.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), 0.1)
        >>> of_model, of_optimizer = dist.checkpoint.state_dict.get_state_dict(model, optimizer)
        >>> dist.checkpoint.state_dict.set_state_dict(
        ...     model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
        <All keys matched successfully>
    """
    if _optimizers(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


_complete_docstrings(globals(), "distributed.checkpoint")
