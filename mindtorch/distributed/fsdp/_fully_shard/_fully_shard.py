"""fully_shard: each rank keeps a shard of every parameter, and modules gather theirs while they compute."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Tensor, nn
from mindtorch._core.autograd.engine import in_backward, queue_callback
from mindtorch.distributed._world import _get_default_group, get_world_size
from mindtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch.distributed.fsdp._fully_shard._parameters import ParameterGroup
from mindtorch.distributed.fsdp._fully_shard._policies import MixedPrecisionPolicy, OffloadPolicy
from mindtorch.distributed.tensor import Shard
from mindtorch.utils._pytree import tree_leaves, tree_map_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["FSDPModule", "ShardedModule", "State", "UnshardHandle", "default_device_type", "fully_shard",
           "move", "register_fsdp_forward_method", "shard"]


class _Order:
    """What the modules under one root share: the order in which their forwards ran, and the current backward."""

    def __init__(self) -> None:
        self.states: list[State] = []      # in the order of forwards
        self.in_backward = False


class State:
    """What fully_shard has added to a module, or to several that run one after the other."""

    def __init__(self, policy: MixedPrecisionPolicy, free_after_forward: bool | None) -> None:
        self.policy = policy
        self.free_after_forward = free_after_forward        # None: unless it is the root
        self.free_after_backward = True
        self.group: ParameterGroup
        self.order: _Order | None = None
        self.is_root = False
        self.forward_prefetch: list[State] = []
        self.backward_prefetch: list[State] | None = None  # None: the module that ran its forward just before
        self.modules: list[nn.Module] = []
        self._ran: set[nn.Module] = set()       # of several modules, those that have run in this forward
        self._waits_for: set[int] = set()

    def set_up(self, module: nn.Module) -> None:
        """The module that runs its forward first is the root of those below it."""
        if self.order is None:
            sharded = [(name, below) for name, below in module.named_modules() if isinstance(below, ShardedModule)]
            for name, below in sharded:
                _take_replaced(name, below)
            self.is_root, order = True, _Order()
            for _, below in sharded:
                below._fsdp_state.order = order

    def casts_inputs(self) -> bool:
        """Whether the inputs of its forward are cast."""
        return self.policy.cast_forward_inputs

    # Forward

    def before_forward(self, module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Gathers the parameters, and casts the inputs."""
        self.set_up(module)
        if self.is_root and not in_backward():
            for state in self.order.states:
                state._ran.clear()
            self.order.states.clear()
        if not in_backward():
            self.group.forget_parts()
        self.group.wait_for_unshard()
        self._watch_gradients()
        for state in self.forward_prefetch:
            state.group.unshard()
        if self.casts_inputs() and self.policy.param_dtype:
            args, kwargs = _cast((args, kwargs), self.policy.param_dtype)
        return args, kwargs

    def after_forward(self, module: nn.Module, args: Any, output: Any) -> Any:
        """Frees when the last of the modules has run, and has the backward of the output gather again. A recomputation,
        within a backward, frees nothing."""
        frees = not self.is_root if self.free_after_forward is None else self.free_after_forward
        is_last = True
        if not in_backward():
            if not self._ran:
                self.order.states.append(self)
            self._ran.add(module)
            is_last = len(self._ran) == len(self.modules)
            if is_last:
                self._ran.clear()
                if frees:
                    self.group.free()
        for leaf in tree_leaves(output):
            if isinstance(leaf, Tensor) and leaf.requires_grad:
                leaf.register_hook(self._before_backward)
        return _cast(output, self.policy.output_dtype) if self.policy.output_dtype and is_last else output

    # Backward

    def _before_backward(self, gradient):
        if not self.order.in_backward:
            self.order.in_backward = True
            queue_callback(self._end_backward)
        self.group.wait_for_unshard()
        if not self._waits_for:         # several modules, or outputs, come here one after the other
            self._waits_for = {number for number, each in enumerate(self.group.members) if each.sharded.requires_grad}
        prefetch = self.backward_prefetch
        if prefetch is None:
            place = self.order.states.index(self) if self in self.order.states else 0
            prefetch = self.order.states[place - 1:place] if place else []
        for state in prefetch:
            state.group.unshard()

    def _watch_gradients(self):
        """From the first gathering of a parameter on, a hook reports its gradient."""
        for number, each in enumerate(self.group.members):
            if each.whole is not None and each.whole.requires_grad and each.hook is None:
                each.hook = each.whole.register_post_accumulate_grad_hook(functools.partial(self._on_gradient, number))

    def _on_gradient(self, number, _parameter):
        self._waits_for.discard(number)
        if not self._waits_for:
            self._after_backward()

    def _after_backward(self):
        for state in self.order.states:
            if state is not self:
                state.group.wait_for_gradients()       # at most one reduction is under way, and its memory in use
        if self.free_after_backward:
            self.group.free()
        self.group.reduce_gradients()

    def _end_backward(self):
        """Of the whole graph: parameters without a gradient have had none to wait for."""
        self.order.in_backward = False
        for state in self.order.states:
            state._waits_for = set()
            state.group.forget_parts()
            if state.free_after_backward:
                state.group.free()
            if any(each.has_gradient() for each in state.group.members):
                state.group.reduce_gradients()
        for state in self.order.states:
            state.group.wait_for_gradients()


def _take_replaced(name, module):
    """Takes what has replaced the shards since fully_shard, and refuses shards without data."""
    group = module._fsdp_state.group
    for each in group.members:
        each.update_sharded()
    names = {id(parameter): f"{name}{'.' * bool(name)}{below}" for below, parameter in module.named_parameters()}
    lacking = [names.get(id(each.sharded), "?") for each in group.members if each.sharded.device.type == "meta"]
    if lacking and group.device.type != "meta":
        raise RuntimeError("FSDP parameters should be materialized from meta device before training, but the following "
                           f"were still on meta device: {lacking}\nCall module.to_empty(device), then let each module "
                           "initialise its values, by reset_parameters() or a checkpoint")


def _cast(value, dtype):
    return tree_map_only(Tensor, lambda each: each.to(dtype) if each.is_floating_point() else each, value)


class UnshardHandle:
    """What `module.unshard(async_op=True)` returns.

    Arguments:
        group: the parameters that are being gathered

    Example:
        >>> layer = dist.fsdp.fully_shard(torch.nn.Linear(2, 2), mesh=dist.init_device_mesh("cpu", (1,)))
        >>> layer.unshard(async_op=True).wait()
        >>> layer.weight.shape
        torch.Size([2, 2])
    """

    def __init__(self, group: ParameterGroup) -> None:
        self._group = group

    def wait(self) -> None:
        """Wait until the parameters are whole."""
        self._group.wait_for_unshard()


class ShardedModule:
    """A module with shards: that of fully_shard, or a FullyShardedDataParallel."""

    def _get_fsdp_state(self) -> State:
        return self._fsdp_state

    def _each(self, recurse=True):
        modules = self.modules() if recurse else [self]
        return [module._fsdp_state for module in modules if isinstance(module, ShardedModule)]

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """to(), to_empty() and their like change the shards."""
        states = self._each()
        for state in states:
            state.group.free()
        result = super()._apply(*args, **kwargs)
        for state in states:
            for each in state.group.members:
                each.update_sharded()
        return result


class FSDPModule(ShardedModule):
    """What a module's class gets as its first base by fully_shard.

    Arguments:
        *args: the arguments of the wrapped class
        **kwargs: the arguments of the wrapped class by name

    Example:
        >>> layer = dist.fsdp.fully_shard(torch.nn.Linear(2, 2), mesh=dist.init_device_mesh("cpu", (1,)))
        >>> isinstance(layer, dist.fsdp.FSDPModule), isinstance(layer, torch.nn.Linear)
        (True, True)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the class that the module had: new ones are not sharded."""
        original = cls.__bases__[1]
        made = original.__new__(original)
        made.__init__(*args, **kwargs)
        return made

    def __deepcopy__(self, memo: Any) -> Any:
        """Refused, as in torch: a copy of the shards would belong to no group."""
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the module's own parameters; with `async_op` what it returns is to be waited for."""
        state = self._fsdp_state
        state.group.unshard(async_op)
        if async_op:
            return UnshardHandle(state.group)
        state.group.wait_for_unshard()
        state._watch_gradients()
        return None

    def reshard(self) -> None:
        """Free the module's own whole parameters."""
        self._fsdp_state.group.free()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backwards reduce gradients. While they do not, each rank adds up its own."""
        for state in self._each(recurse):
            state.group.reduces = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether backwards reduce gradients over replicas as well (HSDP)."""
        for state in self._each(recurse):
            state.group.reduces_over_replicas = requires_all_reduce

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Does nothing: every backward waits for its reductions."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether whole parameters are freed after the forward."""
        for state in self._each(recurse):
            state.free_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether whole parameters are freed after the backward."""
        for state in self._each(recurse):
            state.free_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Modules that are gathered while the forward of this one runs."""
        self._fsdp_state.forward_prefetch = [module._fsdp_state for module in modules]

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Modules that are gathered while the backward of this one runs; by default the one that ran just before it."""
        self._fsdp_state.backward_prefetch = [module._fsdp_state for module in modules]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Gradients are summed and divided by `factor`, instead of by the number of ranks."""
        self._fsdp_state.group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Whether averages of gradients are sums that are divided, which an engine without ReduceOp.AVG needs."""
        for state in self._each():
            state.group.averages = not enable

    def set_all_reduce_hook(self, hook: Callable[[Tensor], None], *, stream: Any = None) -> None:
        """`hook` is called with the reduced gradients of this module's shards, one behind the other, which it may
        change in place, on the current stream or on `stream`."""
        self._fsdp_state.group.hook = hook, stream

    def set_reduce_scatter_unused_params(self, reduce_scatter_unused_params: bool, *, recurse: bool = True) -> None:
        """Whether parameters without a gradient take part as zeros: for ranks that use different ones."""
        for state in self._each(recurse):
            state.group.reduces_unused = reduce_scatter_unused_params

    def set_reduce_scatter_max_input_buffers(self, max_input_buffers: int, *, recurse: bool = True) -> None:
        """Does nothing: at most one reduction is under way."""

    def set_separate_reduce_scatter_group(self, enable: bool = True, *, recurse: bool = True) -> None:
        """Does nothing: gathers and reductions share the group."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Does nothing: MPI and HCCL send from any memory."""

    def set_post_optim_event(self, event: Any) -> None:
        """Does nothing: the next gathering begins when the current stream has done all its work so far."""

    def set_custom_all_gather(self, comm: Any) -> None:
        """Refused: the group gathers."""
        raise NotImplementedError("FSDPModule.set_custom_all_gather: the process group gathers. Register an engine of "
                                  "your own by torch.distributed.Backend.register_backend")

    def set_custom_reduce_scatter(self, comm: Any) -> None:
        """Refused: the group reduces."""
        raise NotImplementedError("FSDPModule.set_custom_reduce_scatter: the process group reduces. Register an engine "
                                  "of your own by torch.distributed.Backend.register_backend")

    def set_symm_mem_for_comm(self, backend: str = "NCCL") -> None:
        """Refused: neither MPI nor HCCL has symmetric memory."""
        raise NotImplementedError("FSDPModule.set_symm_mem_for_comm: MPI and HCCL have no symmetric memory")

    def reset_iter_state(self) -> None:
        """Forget a forward or backward that an exception has ended, so that the next one may begin."""
        for state in self._each():
            state.order.states.clear()
            state.order.in_backward, state._waits_for = False, set()
            state.group.wait_for_gradients()
            state.group.free()

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Does nothing: what the backward needs is gathered."""


@functools.cache
def _class(kind):
    """The class with FSDPModule before it."""
    return type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})


def default_device_type() -> str:
    """The accelerator's if the default group serves it: parameters on the CPU move there, as in torch."""
    accelerator = mindtorch.accelerator.current_accelerator()
    is_served = accelerator is not None and any(each.type == accelerator.type
                                                for each in _get_default_group()._device_types)
    return accelerator.type if is_served else "cpu"


def _own_parameters(modules, ignored):
    """(parameter, places) of the modules and those below that belong to no other fully_shard."""
    places: dict[int, tuple[nn.Parameter, list]] = {}
    seen: set[nn.Module] = set()

    def visit(module):
        if module in seen or (module not in modules and isinstance(module, ShardedModule)):
            return
        seen.add(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter not in ignored:
                places.setdefault(id(parameter), (parameter, []))[1].append((module, name))
        for child in module.children():
            visit(child)

    for module in modules:
        visit(module)
    return list(places.values())


def fully_shard(module: Any, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
                shard_placement_fn: Callable | None = None, mp_policy: MixedPrecisionPolicy | None = None,
                offload_policy: OffloadPolicy | None = None, ignored_params: Iterable[nn.Parameter] = ()) -> Any:
    """Let each rank keep a shard of each parameter of a module, or of several that run one after the other.

    Call it for the layers of a model first, then for the model, then make the optimizer. Parameters are DTensors cut
    along dimension 0, or where `shard_placement_fn(parameter)` says; their values are those of each rank, which are
    to be equal. The forward gathers a module's parameters and frees them again, except the root's
    (`reshard_after_forward`); so does the backward, which averages gradients over the ranks. On a mesh of two
    dimensions shards lie along the second, and the first has replicas.

    Arguments:
        mesh: a DeviceMesh: one dimension shares out, a second one before it keeps copies; None means all ranks
        reshard_after_forward: whether parameters are shared out again after forward; an int: among so many ranks
        shard_placement_fn: a function of a parameter that gives the dimension to cut; None means dimension 0
        mp_policy: a MixedPrecisionPolicy
        offload_policy: an OffloadPolicy
        ignored_params: parameters that are left alone

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> for part in (*model, model):
        ...     _ = dist.fsdp.fully_shard(part, mesh=mesh)
        >>> optimizer = torch.optim.SGD(model.parameters(), 0.1)
        >>> model(torch.ones(2, 4)).sum().backward()
        >>> optimizer.step()
        >>> model[0].weight.placements
        (Shard(dim=0),)
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if isinstance(each, (nn.ModuleList, nn.ModuleDict)) and type(each).forward is nn.Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {each}")
        if isinstance(each, ShardedModule):
            raise AssertionError("Each distinct composable distributed API can only be applied to a module once. "
                                 f"fully_shard has already been applied to the following module:\n{each}")
    mesh = mesh or init_device_mesh(default_device_type(), (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    ranks = None
    if not isinstance(reshard_after_forward, (bool, type(None))):
        size = mesh.size(mesh.ndim - 1)
        if not isinstance(reshard_after_forward, int):
            raise ValueError("reshard_after_forward should be a bool or an int representing the group size to reshard "
                             f"to, not {reshard_after_forward}")
        if reshard_after_forward < 1 or size % reshard_after_forward:
            raise ValueError("If passing reshard_after_forward as an int, it should be a factor of "
                             f"{size}, not {reshard_after_forward}")
        ranks, reshard_after_forward = reshard_after_forward, reshard_after_forward > 1

    def dim_of(parameter):
        place = shard_placement_fn(parameter) if shard_placement_fn is not None else None
        if place is None:
            return 0
        if not isinstance(place, Shard):
            raise AssertionError(f"fully_shard expects Shard placement, got {place}")
        if not -parameter.ndim <= place.dim < parameter.ndim:
            raise AssertionError(f"Shard dim {place.dim} is invalid for {parameter.ndim}D tensor: {parameter.shape}")
        return place.dim % parameter.ndim

    state = State(mp_policy or MixedPrecisionPolicy(), reshard_after_forward)
    shard(modules, state, mesh, dim_of, offload_policy or OffloadPolicy(), ignored_params)
    if ranks is not None and 1 < ranks < size:
        state.group.keep_parts(ranks)
    for each in modules:
        each.__class__ = _class(type(each))
    return module


def _state_of(module: nn.Module) -> State | None:
    """fully_shard.state: what it has added to a module, or None."""
    return getattr(module, "_fsdp_state", None)


fully_shard.state = _state_of


def shard(modules: list[Any], state: State, mesh: DeviceMesh, dim_of: Callable, offload: OffloadPolicy,
          ignored: Iterable[nn.Parameter]) -> None:
    """Give each of the modules the state, cut their parameters, and let their forwards gather."""
    parameters = _own_parameters(modules, set(ignored))
    for parameter, [(_, name), *_] in parameters:
        if parameter.dim() == 0:
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel "
                             "equal to 1.")
    for each in modules:
        if mesh.device_type != "meta":
            move(parameters, each, mesh.device_type)
    state.group = ParameterGroup(parameters, mesh, dim_of, state.policy, offload)
    state.modules = modules
    for each in modules:
        each._fsdp_state = state
        each.register_state_dict_pre_hook(functools.partial(_shards_for_state_dict, state))
        each.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
        each.register_forward_hook(state.after_forward)


def move(parameters: list[tuple[nn.Parameter, Any]], module: nn.Module, device_type: str) -> None:
    """Parameters and buffers to the device of the mesh."""
    with mindtorch.no_grad():
        for parameter, _ in parameters:
            if parameter.device.type not in ("meta", device_type):
                parameter.data = parameter.data.to(device_type)
        for part in module.modules():
            for name, buffer in part._buffers.items():
                if buffer is not None and buffer.device.type not in ("meta", device_type):
                    part._buffers[name] = buffer.to(device_type)


def _shards_for_state_dict(state, *_):
    state.group.free()


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Let another method of a module gather and free as its forward does; nothing for one without fully_shard.

    Arguments:
        method_name: the name of a method that needs the gathered parameters, as forward does

    Example:
        >>> class Model(torch.nn.Linear):
        ...     def score(self, x):
        ...         return self.weight.sum() + x
        >>> model = dist.fsdp.fully_shard(Model(2, 2), mesh=dist.init_device_mesh("cpu", (1,)))
        >>> dist.fsdp.register_fsdp_forward_method(model, "score")
        >>> model.score(torch.ones(1)).shape
        torch.Size([1])
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method, state = getattr(type(module), method_name), module._fsdp_state

    @functools.wraps(method)
    def wrapped(*args, **kwargs):
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_forward(module, args, method(module, *args, **kwargs))

    setattr(module, method_name, wrapped)
