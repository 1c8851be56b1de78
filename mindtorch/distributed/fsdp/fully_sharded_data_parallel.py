"""FullyShardedDataParallel: a wrapper that cuts the parameters of a module as fully_shard does.

Parameters keep their shapes and are DTensors; there are no flat parameters, so `use_orig_params` changes nothing.
"""
from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Tensor, nn
from mindtorch._submodules import module_getattr
from mindtorch.distributed._module_states import _sync_params_and_buffers
from mindtorch.distributed._world import get_world_size
from mindtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch.distributed.fsdp._fully_shard._fully_shard import (
    ShardedModule,
    State,
    default_device_type,
    move,
    shard,
)
from mindtorch.distributed.fsdp._fully_shard._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from mindtorch.distributed.fsdp.api import *  # noqa: F403 - torch has all of api's names in this module, too
from mindtorch.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from mindtorch.distributed.fsdp.wrap import name_without_wrappers, wrap_below
from mindtorch.distributed.tensor import DTensor, distribute_tensor
from mindtorch.utils._pytree import tree_map_only

if TYPE_CHECKING:
    from mindtorch.distributed._process_group import ProcessGroup
    from mindtorch.optim import Optimizer

__all__ = ["FullyShardedDataParallel"]

__getattr__ = module_getattr(__name__)

_WRAPPED = "_fsdp_wrapped_module"
_PREFIX = f"{_WRAPPED}."
_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_KEEPS_WHOLE = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
_CONFIGS = {StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
            StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
            StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig)}
_BUCKET = 250 * 1024 * 1024     # bytes that sync_module_states broadcasts at once


class _WrapperState(State):
    """Its inputs are cast by other rules at the root than below."""

    precision = MixedPrecision()

    def casts_inputs(self) -> bool:
        return self.precision.cast_root_forward_inputs if self.is_root else self.precision.cast_forward_inputs

    def before_forward(self, module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Also moves the root's inputs to the device."""
        args, kwargs = super().before_forward(module, args, kwargs)
        if self.is_root:
            args, kwargs = tree_map_only(Tensor, lambda each: each.to(self.group.device), (args, kwargs))
        return args, kwargs


def _mesh_of(strategy, group, mesh, device_id):
    """One dimension to cut along, behind one of replicas where the strategy has them."""
    if mesh is not None:
        if group is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time. Please just pass only "
                             "one of them.")
        if strategy in _HYBRID and mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh
    groups = group if isinstance(group, tuple) else (group,)
    if device_id is not None:
        device_type = mindtorch.device(device_id).type
    else:
        device_type = default_device_type() if group is None else groups[0]._device_types[-1].type
    ranks = get_world_size()
    if strategy in _HYBRID and len(groups) == 2:
        shards, replicas = groups
        return DeviceMesh.from_group([replicas, shards], device_type,
                                     mindtorch.arange(ranks).view(replicas.size(), shards.size()))
    if group is not None:
        return DeviceMesh.from_group(groups[0], device_type)
    if strategy in _HYBRID:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
        return init_device_mesh(device_type, (ranks // local, local))
    return init_device_mesh(device_type, (ranks, 1) if strategy is ShardingStrategy.NO_SHARD else (ranks,))


class FullyShardedDataParallel(ShardedModule, nn.Module):
    """A module of whose parameters each rank keeps a shard; they are gathered while it computes.

    The parameters of modules below that are not wrapped themselves belong to it: `auto_wrap_policy`, a function
    (module, recurse, nonwrapped_numel) or a policy of `wrap`, chooses modules that are wrapped on their own. Make the
    optimizer afterwards: `parameters()` are DTensors.

    - process_group: the ranks, all by default; (shards, replicas) for the hybrid strategies, which else need a
      `device_mesh` of two dimensions, (replicas, shards).
    - sharding_strategy: see ShardingStrategy; FULL_SHARD by default.
    - cpu_offload, mixed_precision: see CPUOffload, MixedPrecision.
    - ignored_modules, ignored_states: modules, or parameters, that stay as they are.
    - param_init_fn: called with each module that has parameters on the device "meta", which it is to move and fill.
    - device_id: where the module's parameters and buffers go.
    - sync_module_states: rank 0's parameters and buffers count.
    - backward_prefetch: None does not gather ahead in the backward; both others do, before the gradients.
    - forward_prefetch, limit_all_gathers, use_orig_params: accepted; they change nothing.

    `state_dict()` has whole tensors by the names of the module itself; see `state_dict_type`.

    Arguments:
        process_group: the ranks that share the parameters; None means all
        sharding_strategy: a ShardingStrategy: what is shared out; None means FULL_SHARD
        cpu_offload: a CPUOffload; None keeps parameters on the device
        auto_wrap_policy: which submodules are wrapped by themselves: a policy of torch.distributed.fsdp.wrap
        backward_prefetch: a BackwardPrefetch: when the next parameters are gathered in backward
        mixed_precision: a MixedPrecision; None computes in the dtype of the parameters
        ignored_modules: modules whose parameters are left alone
        param_init_fn: a function that makes the parameters of a module on the meta device
        device_id: the device of this rank
        sync_module_states: whether all ranks begin with the parameters of rank 0
        forward_prefetch: not read
        limit_all_gathers: not read
        use_orig_params: not read
        ignored_states: parameters, or modules, that are left alone
        device_mesh: a DeviceMesh, in place of process_group

    Example:
        >>> model = dist.fsdp.FullyShardedDataParallel(torch.nn.Linear(2, 1), device_id=torch.device("cpu"))
        >>> list(model.state_dict())
        ['weight', 'bias']
    """

    def __init__(self, module: nn.Module, process_group: Any = None, sharding_strategy: ShardingStrategy | None = None,
                 cpu_offload: CPUOffload | None = None, auto_wrap_policy: Any = None,
                 backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
                 mixed_precision: MixedPrecision | None = None, ignored_modules: Iterable[nn.Module] | None = None,
                 param_init_fn: Callable[[nn.Module], None] | None = None, device_id: Any = None,
                 sync_module_states: bool = False, forward_prefetch: bool = False, limit_all_gathers: bool = True,
                 use_orig_params: bool = False, ignored_states: Iterable[Any] | None = None,
                 device_mesh: DeviceMesh | None = None) -> None:
        super().__init__()
        if isinstance(module, (nn.ModuleList, nn.ModuleDict)):
            raise ValueError(f"FSDP will not all-gather parameters for containers that do not implement forward: "
                             f"{module}")
        if ignored_modules is not None and ignored_states is not None:
            raise ValueError("Cannot pass both ignored_modules and ignored_states at the same time. Please just pass "
                             "ignored_states.")
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = _mesh_of(strategy, process_group, device_mesh, device_id)
        modules, parameters = _ignored(ignored_modules, ignored_states)
        precision = mixed_precision or MixedPrecision()
        if auto_wrap_policy is not None:
            if isinstance(module, FullyShardedDataParallel) or any(map(_is_wrapped, module.modules())):
                raise ValueError("FSDP auto wrapping requires modules to not already have FSDP applied but found "
                                 f"a wrapped module in\n{module}")
            kwargs = {"sharding_strategy": strategy, "cpu_offload": cpu_offload, "backward_prefetch": backward_prefetch,
                      "mixed_precision": mixed_precision, "param_init_fn": param_init_fn, "device_id": device_id,
                      "sync_module_states": sync_module_states, "ignored_states": parameters, "device_mesh": mesh}
            _keep_precision(module, precision, modules, parameters, kwargs)
            wrap_below(module, auto_wrap_policy, FullyShardedDataParallel, modules, parameters, kwargs)
        _leave_meta(module, param_init_fn, mesh.device_type)
        setattr(self, _WRAPPED, module)
        own = [each for each in _own(module, "_parameters") if each not in parameters]
        move([(each, None) for each in own], module, mesh.device_type)
        if sync_module_states:
            for number in range(mesh.ndim):
                _sync_params_and_buffers(mesh.get_group(number), [*own, *_own(module, "_buffers")], _BUCKET, 0)
        self._buffer_dtypes = _cast_buffers(module, precision.buffer_dtype, modules)
        self._cut(mesh, strategy, precision, cpu_offload, backward_prefetch, parameters)
        self._settings = _settings(StateDictType.FULL_STATE_DICT, None, None)
        self._register_state_dict_hook(_after_state_dict)
        self.register_load_state_dict_pre_hook(_before_load)

    def _cut(self, mesh, strategy, precision, cpu_offload, backward_prefetch, ignored):
        policy = MixedPrecisionPolicy(precision.param_dtype, precision.reduce_dtype)
        state = _WrapperState(policy, False if strategy in _KEEPS_WHOLE else None)
        state.precision = precision
        if backward_prefetch is None:
            state.backward_prefetch = []
        offload = CPUOffloadPolicy() if cpu_offload is not None and cpu_offload.offload_params else OffloadPolicy()
        shard([self], state, mesh, lambda parameter: 0, offload, ignored)

    @property
    def module(self) -> nn.Module:
        """The module that was wrapped."""
        return getattr(self, _WRAPPED)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_WRAPPED), name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*args, **kwargs)

    def check_is_root(self) -> bool:
        """Whether no other FullyShardedDataParallel stands above, as far as forwards have shown."""
        self._fsdp_state.set_up(self)
        return self._fsdp_state.is_root

    @staticmethod
    def fsdp_modules(module: nn.Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Those in a module, itself included; with `root_only` those that stand below no other."""
        found = list(filter(_is_wrapped, module.modules()))
        if not root_only:
            return found
        below = {inner for outer in found for inner in outer.modules() if inner is not outer}
        return [each for each in found if each not in below]

    def apply(self, fn: Callable[[nn.Module], None]) -> FullyShardedDataParallel:
        """Call fn with every module, while parameters are whole; what it changes stays."""
        if self.__dict__.get("_summoned"):      # by one above, whose apply this is part of
            return super().apply(fn)
        with self.summon_full_params(self):
            return super().apply(fn)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backwards within reduce no gradients: each rank adds up its own until one outside."""
        states = self._each()
        before = [state.group.reduces for state in states]
        for state in states:
            state.group.reduces = False
        try:
            yield
        finally:
            for state, reduces in zip(states, before, strict=True):
                state.group.reduces = reduces

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients so that the norm of all, over all ranks, is at most `max_norm`; the norm before."""
        norm = nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    # Whole parameters

    @staticmethod
    def summon_full_params(module: nn.Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
                           offload_to_cpu: bool = False, with_grads: bool = False,
                           ) -> contextlib.AbstractContextManager[None]:
        """Within the block parameters are whole, in their own dtype, under the names of the plain module.

        With `writeback` what they are at its end counts, each rank's for its shard. With `rank0_only` the other ranks
        have shards, and nothing is written back from rank 0 either.
        """
        return _summon_full_params(module, recurse, writeback, rank0_only, offload_to_cpu, with_grads)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """As any module's; within summon_full_params without the names of the wrappers."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (name.replace(_PREFIX, "") if self.__dict__.get("_summoned") else name), parameter

    # State

    @staticmethod
    def set_state_dict_type(module: nn.Module, state_dict_type: StateDictType,
                            state_dict_config: StateDictConfig | None = None,
                            optim_state_dict_config: OptimStateDictConfig | None = None) -> StateDictSettings:
        """What state dicts of all FullyShardedDataParallel in a module have from now on; what they had before."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        settings = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        for wrapper in FullyShardedDataParallel.fsdp_modules(module):
            wrapper._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: nn.Module) -> StateDictSettings:
        """What state dicts of the FullyShardedDataParallel in a module have."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return found[0]._settings if found else _settings(StateDictType.FULL_STATE_DICT, None, None)

    @staticmethod
    def state_dict_type(module: nn.Module, state_dict_type: StateDictType,
                        state_dict_config: StateDictConfig | None = None,
                        optim_state_dict_config: OptimStateDictConfig | None = None,
                        ) -> contextlib.AbstractContextManager[None]:
        """set_state_dict_type for a block."""
        return _state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)

    @staticmethod
    def optim_state_dict(model: nn.Module, optim: Optimizer, optim_state_dict: dict[str, Any] | None = None,
                         group: ProcessGroup | None = None) -> dict[str, Any]:
        """The optimizer's state by the names of parameters: whole, or as DTensors, as `state_dict_type` says."""
        from mindtorch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        config = settings.optim_state_dict_config
        is_full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        found = get_optimizer_state_dict(model, optim, options=StateDictOptions(full_state_dict=is_full))
        if getattr(config, "rank0_only", False) and mindtorch.distributed.get_rank(group) != 0:
            return {}
        return tree_map_only(Tensor, lambda each: each.cpu(), found) if config.offload_to_cpu else found

    @staticmethod
    def optim_state_dict_to_load(model: nn.Module, optim: Optimizer, optim_state_dict: dict[str, Any],
                                 is_named_optimizer: bool = False, load_directly: bool = False,
                                 group: ProcessGroup | None = None) -> dict[str, Any]:
        """What optim.load_state_dict takes, of the state that optim_state_dict has returned; or load it here."""
        from mindtorch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict
        before = copy.deepcopy(optim.state_dict())
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        is_full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        set_optimizer_state_dict(model, optim, optim_state_dict, options=StateDictOptions(full_state_dict=is_full))
        taken = optim.state_dict()
        if not load_directly:
            taken = copy.deepcopy(taken)
            optim.load_state_dict(before)
        return taken


def _is_wrapped(module):
    return isinstance(module, FullyShardedDataParallel)


@contextlib.contextmanager
def _summon_full_params(module, recurse, writeback, rank0_only, offload_to_cpu, with_grads):
    if rank0_only and writeback and get_world_size() > 1:
        raise NotImplementedError("summon_full_params: writeback=True and rank0_only=True is not supported")
    wrappers = FullyShardedDataParallel.fsdp_modules(module)
    members = [each for wrapper in wrappers if recurse or wrapper is module
               for each in wrapper._fsdp_state.group.members]
    whole = []
    for wrapper in wrappers:
        wrapper._fsdp_state.group.free()
    for each in members:
        made = _whole_parameter(each.sharded, offload_to_cpu, with_grads)
        if not rank0_only or mindtorch.distributed.get_rank() == 0:
            whole.append((each, made))
    for each, made in whole:
        each.set_in_modules(made)
    for wrapper in wrappers:
        wrapper.__dict__["_summoned"] = True
    try:
        yield
    finally:
        for wrapper in wrappers:
            wrapper.__dict__["_summoned"] = False
        for each, made in whole:
            each.set_in_modules(each.sharded)
            if writeback:
                _write_back(each.sharded, made, with_grads)


@contextlib.contextmanager
def _state_dict_type(module, kind, config, optim_config):
    before = FullyShardedDataParallel.set_state_dict_type(module, kind, config, optim_config)
    try:
        yield
    finally:
        for wrapper in FullyShardedDataParallel.fsdp_modules(module):
            wrapper._settings = before


def _settings(kind, config, optim_config):
    model_class, optim_class = _CONFIGS[kind]
    config, optim_config = config or model_class(), optim_config or optim_class()
    for given, expected in ((config, model_class), (optim_config, optim_class)):
        if type(given) is not expected:
            raise RuntimeError(f"Expected state_dict_config of type {expected} but got {type(given)}")
    return StateDictSettings(kind, config, optim_config)


# Construction

def _ignored(modules, states):
    """(modules, parameters) that stay as they are."""
    states = list(states or ())
    roots = [*(modules or ()), *(each for each in states if isinstance(each, nn.Module))]
    inside = {each for root in roots for each in root.modules()}
    parameters = {each for each in states if isinstance(each, nn.Parameter)}
    return inside, parameters | {each for root in roots for each in root.parameters()}


def _own_modules(module):
    yield module
    for child in module.children():
        if not _is_wrapped(child):
            yield from _own_modules(child)


def _own(module, kind):
    return [value for part in _own_modules(module) for value in getattr(part, kind).values() if value is not None]


def _leave_meta(module, init, device_type):
    """Give modules on the device "meta" memory and values."""
    for part in _own_modules(module):
        values = [*part._parameters.values(), *part._buffers.values()]
        if any(value is not None and value.is_meta for value in values):
            if init is not None:
                init(part)
                continue
            if not hasattr(part, "reset_parameters"):
                raise ValueError(f"{type(part)} has parameters on the meta device and no reset_parameters: pass a "
                                 "param_init_fn")
            part.to_empty(device=device_type, recurse=False)
            part.reset_parameters()


def _keep_precision(module, precision, ignored_modules, ignored_parameters, kwargs):
    """Wrap the modules of the classes to ignore on their own: they compute in float32."""
    if not precision._module_classes_to_ignore or (precision.param_dtype or precision.buffer_dtype) is None:
        return
    kinds = tuple(precision._module_classes_to_ignore)

    def policy(module, recurse, nonwrapped_numel):
        return recurse or isinstance(module, kinds)

    for each in module.modules():
        if isinstance(each, kinds):
            each.register_forward_pre_hook(lambda _, args: tree_map_only(Tensor, _to_float, args))
            each.register_forward_hook(lambda _, args, output: tree_map_only(
                Tensor, lambda value: value.to(precision.param_dtype or value.dtype), output))
    wrap_below(module, policy, FullyShardedDataParallel, ignored_modules, ignored_parameters,
               {**kwargs, "mixed_precision": None})


def _to_float(tensor):
    return tensor.float() if tensor.is_floating_point() else tensor


def _cast_buffers(module, dtype, ignored):
    """{name: dtype before} of the buffers that are cast."""
    cast = {}
    if dtype is not None:
        own = set(_own_modules(module)) - ignored
        for name, buffer in module.named_buffers():
            holder, _, last = name.rpartition(".")
            part = module.get_submodule(holder)
            if part in own and buffer.is_floating_point():
                cast[name] = buffer.dtype
                part._buffers[last] = buffer.to(dtype)
    return cast


# Whole parameters

@mindtorch.no_grad()
def _whole_parameter(sharded, on_host, with_grads):
    whole = sharded.detach().full_tensor()
    whole = nn.Parameter(whole.cpu() if on_host else whole, sharded.requires_grad)
    if with_grads and sharded.grad is not None:
        whole.grad = sharded.grad.full_tensor().to(whole.device)
    return whole


@mindtorch.no_grad()
def _write_back(sharded, whole, with_grads):
    pairs = [(sharded, whole.detach())]
    if with_grads and whole.grad is not None:
        if sharded.grad is None:
            sharded.grad = mindtorch.zeros_like(sharded)
        pairs.append((sharded.grad, whole.grad))
    for target, source in pairs:
        target._local_tensor.copy_(_as_shards(source, sharded)._local_tensor)


def _as_shards(whole, like):
    mesh = like.device_mesh
    return distribute_tensor(whole.to(mesh.device_type), mesh, like.placements, src_data_rank=None)


# State

@mindtorch.no_grad()
def _after_state_dict(wrapper, state, prefix, _metadata):
    """Names of the plain module; parameters as the settings say."""
    kind, config = wrapper._settings.state_dict_type, wrapper._settings.state_dict_config
    is_left_out = getattr(config, "rank0_only", False) and mindtorch.distributed.get_rank() != 0
    for name in [name for name in state if name.startswith(prefix)]:
        value, plain = state.pop(name), name[len(prefix):].removeprefix(_PREFIX)
        if isinstance(value, DTensor) and kind is StateDictType.FULL_STATE_DICT:
            value = value.full_tensor()
        elif isinstance(value, DTensor) and kind is StateDictType.LOCAL_STATE_DICT:
            value = value.to_local()
        if plain in wrapper._buffer_dtypes:
            value = value.to(wrapper._buffer_dtypes[plain])
        if isinstance(value, Tensor) and config.offload_to_cpu:
            value = value.cpu()
        if not is_left_out:
            state[prefix + plain] = value


@mindtorch.no_grad()
def _before_load(wrapper, state, prefix, *_):
    """The names and the shards that this module has."""
    wrapper._fsdp_state.group.free()
    parameters = {name_without_wrappers(name): each for name, each in nn.Module.named_parameters(wrapper)}
    for name in [name for name in state if name.startswith(prefix)]:
        value, plain = state.pop(name), name[len(prefix):].removeprefix(_PREFIX)
        own = parameters.get(name_without_wrappers(plain))
        if isinstance(own, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor):
            if wrapper._settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
                value = DTensor.from_local(value.to(own.device), own.device_mesh, own.placements, run_check=False,
                                           shape=own.shape, stride=own.stride())
            elif value.shape == own.shape:
                value = _as_shards(value, own)
        state[prefix + _PREFIX + plain] = value
