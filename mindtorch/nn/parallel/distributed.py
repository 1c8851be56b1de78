"""torch.nn.parallel.distributed: a module that several processes train, each with a part of the batch."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import distributed as dist
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.distributed._module_states import _broadcast_coalesced, _verify_params_across_processes
from mindtorch.distributed._reducer import FIRST_BUCKET_BYTES, Reducer
from mindtorch.distributed.algorithms.ddp_comm_hooks.default_hooks import compressed_mean
from mindtorch.distributed.algorithms.join import Join, Joinable, JoinHook
from mindtorch.distributed.utils import _cast_forward_inputs, _to_kwargs
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.sparse import Embedding, EmbeddingBag
from mindtorch.nn.parallel._mixed_precision import LowerParameters, _MixedPrecision
from mindtorch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup
    from mindtorch.nn.parameter import Parameter

__all__ = ["DistributedDataParallel"]

_BUCKET_MB = 25
_BROADCAST_BYTES = 250 << 20        # of one broadcast of parameters and buffers


class _JoinHook(JoinHook):
    """Takes part in the collectives of DistributedDataParallel after this rank's inputs have ended."""

    def __init__(self, ddp, divide_by_initial_world_size):
        self._ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self):
        ddp = self._ddp
        ddp.reducer.rebuild()
        ddp._sync_buffers_while_joining()
        if ddp._any_rank_syncs(False):
            ddp.reducer.join_backward()

    def post_hook(self, is_last_joiner):
        """All ranks get the parameters and buffers of the one that was the last to end."""
        ddp = self._ddp
        ddp._broadcast(ddp._module_state(), ddp._last_rank(is_last_joiner))


class DistributedDataParallel(Module, Joinable):
    """Trains `module` in all processes of a group: the gradients are the mean of those of all ranks.

    On construction all ranks get the parameters and buffers of rank 0. A backward puts the gradients into buckets, in
    the reverse order of the parameters, and reduces each bucket as soon as it is full, while it goes on. The parameters
    of `delay_all_reduce_named_params`, pairs of name and parameter, have one bucket together, without a hook. It is
    reduced after all others, once `param_to_hook_all_reduce` has its gradient.

    Arguments:
        module: the module
        device_ids: the NPU of this process, as a list of one; None on the CPU
        output_device: where the results come to; None means the NPU of this process
        dim: not read
        broadcast_buffers: whether buffers are those of rank 0 before each forward
        init_sync: whether parameters and buffers are those of rank 0 at the beginning
        process_group: the ranks that take part; None means all
        bucket_cap_mb: the size of a bucket of gradients in MiB; None means 25
        find_unused_parameters: whether parameters that a pass does not use are looked for
        check_reduction: deprecated, not read
        gradient_as_bucket_view: whether gradients are views of the buckets, which saves memory
        static_graph: whether each pass uses the same parameters in the same order
        delay_all_reduce_named_params: parameters with names, whose gradients are reduced together at the end
        param_to_hook_all_reduce: the parameter whose gradient starts that
        mixed_precision: the dtypes of parameters, gradients and buffers; None leaves them
        device_mesh: a DeviceMesh of one dimension, in place of process_group
        skip_all_reduce_unused_params: whether parameters that no rank has used are left out
        bucket_cap_mb_list: the size of each bucket in MiB, in place of bucket_cap_mb
        batched_grad_copy: not read
        forward_sync_buffers: whether buffers are sent before forward

    Example:
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model(torch.ones(4, 2)).sum().backward()
        >>> model.module.weight.grad                # the mean of the ranks
        tensor([[4., 4.]])
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool | None = None, init_sync: bool = True,
                 process_group: ProcessGroup | None = None, bucket_cap_mb: float | None = None,
                 find_unused_parameters: bool = False, check_reduction: bool = False,
                 gradient_as_bucket_view: bool = False, static_graph: bool = False,
                 delay_all_reduce_named_params: list[tuple[str, Parameter]] | None = None,
                 param_to_hook_all_reduce: Parameter | None = None,
                 mixed_precision: _MixedPrecision | None = None, device_mesh: Any = None,
                 skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
                 batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None) -> None:
        super().__init__()
        Joinable.__init__(self)
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError("delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same "
                             "time.")
        if device_mesh is not None and process_group is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group()
        self.process_group = dist.distributed_c10d._get_default_group() if process_group is None else process_group
        self.module = module
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = self._named_parameters_to_reduce()
        if not named:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that "
                               "requires a gradient.")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        kinds = {each.device.type for _, each in named}
        if len(kinds) != 1:
            raise ValueError("DistributedDataParallel's input module must be on the same type of devices, but input "
                             f"module parameters locate in {kinds}.")
        self.device_type, = kinds
        self._delayed, self._delayed_until = set(), None
        if delay_all_reduce_named_params is not None:
            self._delayed = {name for name, _ in delay_all_reduce_named_params}
            self._delayed_until = next((name for name, each in named if each is param_to_hook_all_reduce), None)
            if self._delayed_until is None:
                raise ValueError("param_to_hook_all_reduce is none of the parameters that DistributedDataParallel "
                                 "reduces")
        if device_ids and self.device_type == "cpu":
            raise ValueError("DistributedDataParallel device_ids and output_device arguments only work with "
                             "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                             f"{device_ids}, output_device {output_device}, and module parameters {kinds}.")
        self.device_ids = [each if isinstance(each, int) else mindtorch.device(each).index
                           for each in device_ids] if device_ids else None
        self.output_device = output_device
        self.dim = dim
        self.device = named[0][1].device
        self.forward_sync_buffers = (broadcast_buffers is not False if forward_sync_buffers is None
                                     else forward_sync_buffers)
        self.mixed_precision = mixed_precision
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._divide_by_initial_world_size = True
        if init_sync:
            _verify_params_across_processes(self.process_group, [each for _, each in named])
            self._broadcast(self._module_state())
        sizes = bucket_cap_mb_list or [_BUCKET_MB if bucket_cap_mb is None else bucket_cap_mb]
        self._bucket_limits = [int(size * (1 << 20)) for size in sizes]
        if bucket_cap_mb is None and not bucket_cap_mb_list:
            self._bucket_limits.insert(0, FIRST_BUCKET_BYTES)
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self._lower = None if mixed_precision is None else LowerParameters(
            [each for name, each in module.named_parameters() if name not in self.parameters_to_ignore],
            self._buffers_to_sync(), mixed_precision)
        self._make_reducer()

    @property
    def broadcast_buffers(self) -> bool:
        """The older name of forward_sync_buffers."""
        return self.forward_sync_buffers

    def _named_parameters_to_reduce(self):
        return [(name, each) for name, each in self.module.named_parameters()
                if each.requires_grad and name not in self.parameters_to_ignore]

    def _make_reducer(self):
        sparse = {f"{name}.weight" if name else "weight" for name, each in self.module.named_modules()
                  if isinstance(each, (Embedding, EmbeddingBag)) and each.sparse}
        self.reducer = Reducer(self._named_parameters_to_reduce(), self.process_group, self._bucket_limits,
                               self.find_unused_parameters, self.gradient_as_bucket_view, self.static_graph, sparse,
                               self._lower, self.skip_all_reduce_unused_params, self._delayed, self._delayed_until)
        if self._lower is not None and self._lower.reduce_dtype is not None:
            self.reducer.register_hook(self.process_group, partial(compressed_mean, self._lower.reduce_dtype))

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which begin with a default group of their own and without a hook."""
        if not dist.is_initialized() or self.process_group is not dist.distributed_c10d._get_default_group():
            raise RuntimeError("DDP Pickling/Unpickling are only supported when using DDP with the default process "
                               "group. That is, when you have called init_process_group and have not passed "
                               "process_group argument to DDP constructor")
        return {name: value for name, value in vars(self).items() if name not in ("process_group", "reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = dist.distributed_c10d._get_default_group()
        self._make_reducer()

    def _buffers_to_sync(self):
        return [each for name, each in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _module_state(self):
        return [each for name, each in self.module.named_parameters()
                if name not in self.parameters_to_ignore] + self._buffers_to_sync()

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Parameters and buffers of `module`, by name, that DistributedDataParallel leaves alone."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        """As the argument static_graph, before the first forward."""
        self.static_graph = self.reducer._static_graph = True

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A backward in here, or of a forward in here, leaves the gradients of this rank as they are."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """The settings, by torch's names, for frameworks that print them."""
        return {"world_size": self.process_group.size(), "rank": self.process_group.rank(),
                "backend_name": self.process_group.name(), "module_name": type(self.module).__name__,
                "broadcast_buffers": self.broadcast_buffers, "gradient_as_bucket_view": self.gradient_as_bucket_view,
                "find_unused_parameters": self.find_unused_parameters, "static_graph": self.static_graph,
                "num_parameter_tensors": len(self._named_parameters_to_reduce())}

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward broadcasts buffers."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self._buffers_to_sync())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        inputs, kwargs = self._pre_forward(*inputs, **kwargs)
        return self._post_forward(self.module(*inputs, **kwargs))

    def _is_training(self):
        return mindtorch.is_grad_enabled() and self.require_backward_grad_sync

    def _pre_forward(self, *inputs, **kwargs):
        """The inputs as the module gets them."""
        if self._join_config.enable:
            self._notify_joined(self._is_training())
        elif self.will_sync_module_buffers():
            self._broadcast(self._buffers_to_sync())
        if self.device_ids:
            inputs, kwargs = (each[0] for each in _to_kwargs(inputs, kwargs, self.device, False))
        if self._lower is not None:
            self._lower.restore()
            if self._is_training():
                self.reducer.rebuild()      # while parameters have the dtypes of buckets
            self._lower.lower()
            inputs, kwargs = _cast_forward_inputs(self._lower.compute_dtype, *inputs, **kwargs)
        return inputs, kwargs

    def _post_forward(self, outputs):
        if self._lower is not None and not mindtorch.is_grad_enabled():
            self._lower.restore()
        self.require_forward_param_sync = self.reducer.active = self._is_training()
        if self.reducer.active:
            self.reducer.prepare([leaf for leaf in tree_leaves(outputs) if isinstance(leaf, TensorBase)])
        return outputs

    def _broadcast(self, tensors, source=0):
        _broadcast_coalesced(self.process_group, tensors, _BROADCAST_BYTES, source)

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """Have `hook(state, bucket)` reduce the buckets, which returns a Future of a tensor in the shape of the buffer.

        It sees the sum of this rank's gradients, and also divides by the number of ranks if that is wanted.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self.reducer.register_hook(state, hook)

    # Ranks whose inputs end at different times

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Join:
        """A context in which ranks may have different numbers of inputs."""
        return Join([self], enable, throw_on_early_termination,
                    divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _JoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _notify_joined(self, training):
        count = Join.notify_join_context(self)
        if count is not None:
            self.reducer.divisor = (dist.get_world_size(self.process_group) if self._divide_by_initial_world_size
                                    else count)
            self.reducer.rebuild()
            self._sync_buffers_while_joining(active=True)
            self._any_rank_syncs(training)

    def _sync_buffers_while_joining(self, active=False):
        """The buffers of the last rank that still has inputs, instead of those of rank 0."""
        if not (self.forward_sync_buffers and self._buffers_to_sync()):
            return
        self._broadcast(self._buffers_to_sync(), self._last_rank(active))

    def _last_rank(self, is_one):
        """The last rank for which `is_one` holds."""
        last = mindtorch.tensor([dist.get_rank(self.process_group) if is_one else -1], device=self.device)
        dist.all_reduce(last, dist.ReduceOp.MAX, group=self.process_group)
        return int(last)

    def _any_rank_syncs(self, training):
        flag = mindtorch.tensor([int(training)], device=self.device)
        dist.all_reduce(flag, dist.ReduceOp.MAX, group=self.process_group)
        return bool(flag)
