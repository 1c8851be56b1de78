"""ProcessGroup: ranks that communicate, with an engine for each device type."""
from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mindtorch import device
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.distributed import _options as options
from mindtorch.distributed._options import (
    UNSET_TIMEOUT,
    AllreduceOptions,
    BroadcastOptions,
    ReduceOp,
    _IntegerEnum,
)
from mindtorch.distributed._work import CompletedWork, Work

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributed._backend import Backend
    from mindtorch.distributed._stores import Store

__all__ = ["BackendType", "ProcessGroup"]


class BackendType(_IntegerEnum):
    """The engines that torch numbers; those that were registered by name are CUSTOM."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, CUSTOM = range(7)


def _listed(tensors):
    return [tensors] if isinstance(tensors, TensorBase) else tensors


def _filled(kind, opts, timeout, **fields):
    """The options that a call is given, or those made of its single arguments."""
    if isinstance(opts, options._Options):
        return opts
    made = kind()
    if timeout is not None:
        made.timeout = timeout
    if opts is not None:        # the reduction or the root stands in the place of the options
        fields[next(iter(fields))] = opts
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, value)
    return made


_TWO_NAMES = (("all_gather_single", "_allgather_base"), ("reduce_scatter_single", "_reduce_scatter_base"),
              ("all_gather_single_coalesced", "allgather_into_tensor_coalesced"),
              ("reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced"),
              ("all_to_all_single", "alltoall_base"), ("rank", "getRank"), ("size", "getSize"),
              ("_set_group_name", "setGroupName"), ("_set_group_desc", "setGroupDesc"))


class ProcessGroup:
    """Ranks that communicate. Each collective goes to the engine of its tensors' device type.

    Arguments:
        *args: a store, the rank and the size of the group

    Example:
        >>> group = dist.group.WORLD
        >>> isinstance(group, dist.ProcessGroup), group.rank(), group.size()
        (True, 0, 1)
    """

    BackendType = BackendType

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A group that is written in Python may have methods by either of the names that torch has for them."""
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        for names in _TWO_NAMES:
            for name, other in (names, names[::-1]):
                if name in own and other not in own:
                    setattr(cls, other, own[name])
        for name, other in (("group_name", "getGroupName"), ("group_desc", "getGroupDesc")):
            if other in own and name not in own:
                setattr(cls, name, property(own[other]))

    def __init__(self, *args: Any) -> None:
        """(rank, size) or (store, rank, size)."""
        self._store = args[0] if len(args) == 3 else None
        self._rank, self._size = args[-2:]
        self._backends: dict[str, Backend] = {}
        self._default_type = BackendType.UNDEFINED
        self._name = self._desc = "undefined"
        self._sequence_number = 0
        self.bound_device_id = None

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks the group has."""
        return self._size

    def getBackendName(self) -> str:
        """The name of the default engine; a group written in Python has one of its own."""
        return self._default_backend().name() if self._backends else "undefined"

    def name(self) -> str:
        """What `getBackendName` returns."""
        return self.getBackendName()

    _get_backend_name = name

    def _id(self) -> int:
        return id(self)

    @property
    def group_name(self) -> str:
        return self._name

    @property
    def group_desc(self) -> str:
        return self._desc

    def _set_group_name(self, name: str) -> None:
        self._name = name
        for backend in self._backends.values():
            backend.group_name = name

    def _set_group_desc(self, description: str) -> None:
        self._desc = description
        for backend in self._backends.values():
            backend.group_desc = description

    def get_group_store(self) -> Store:
        """The store of this group's keys."""
        return self._store

    def boxed(self) -> ProcessGroup:
        """Itself: no TorchScript stands between."""
        return self

    unbox = staticmethod(lambda group: group)

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ProcessGroup object at {id(self):#x}>"

    # Engines

    def _register_backend(self, device: Any, backend_type: BackendType, backend: Backend | None = None) -> None:
        """Let `backend` serve the tensors of a device type."""
        self._backends[device.type] = backend
        backend._type = backend_type

    def _set_default_backend(self, backend_type: BackendType) -> None:
        self._default_type = backend_type

    def _default_backend(self):
        chosen = (backend for backend in self._backends.values() if backend._type is self._default_type)
        return next(chosen, None) or next(iter(self._backends.values()))

    def _get_backend(self, device: Any) -> Backend:
        try:
            return self._backends[device.type]
        except KeyError:
            raise RuntimeError(f"No backend type associated with device type {device.type}") from None

    @property
    def _device_types(self) -> list[device]:
        return [device(kind) for kind in self._backends]

    def _of(self, tensor):
        """The engine for a tensor."""
        device = tensor.device
        return self._backends.get(device.type) or self._get_backend(device)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long collectives may take from now on."""
        for backend in self._backends.values():
            backend.set_timeout(timeout)

    def shutdown(self) -> None:
        """Release what the engines hold, when all collectives have ended."""
        for backend in set(self._backends.values()):
            backend.shutdown()

    def abort(self) -> None:
        """Release what the engines hold; collectives under way end with an error."""
        for backend in set(self._backends.values()):
            backend.abort()

    def _set_sequence_number_for_group(self) -> None:
        for backend in self._backends.values():
            backend._set_sequence_number_for_group()

    def _get_sequence_number_for_group(self) -> int:
        return self._default_backend()._get_sequence_number_for_group()

    def _start_coalescing(self, device: Any) -> None:
        self._get_backend(device)._start_coalescing()

    def _end_coalescing(self, device: Any) -> Work:
        return self._get_backend(device)._end_coalescing()

    # Collectives: with options as engines take them, or with single arguments

    def allreduce(self, tensors: Any = None, opts: Any = None, timeout: timedelta | None = None, *,
                  tensor: Tensor | None = None, op: ReduceOp | None = None) -> Work:
        if type(opts) is not AllreduceOptions or type(tensors) is not list:
            tensors = _listed(tensors if tensor is None else tensor)
            opts = _filled(options.AllreduceOptions, opts, timeout, reduceOp=op)
        return self._of(tensors[0]).allreduce(tensors, opts)

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = None) -> Work:
        return self._of(tensors[0]).allreduce_coalesced(tensors, opts or options.AllreduceCoalescedOptions())

    def broadcast(self, tensors: Any = None, opts: Any = None, timeout: timedelta | None = None, *,
                  tensor: Tensor | None = None, root: int | None = None) -> Work:
        if type(opts) is not BroadcastOptions or type(tensors) is not list:
            tensors = _listed(tensors if tensor is None else tensor)
            opts = _filled(options.BroadcastOptions, opts, timeout, rootRank=root)
        return self._of(tensors[0]).broadcast(tensors, opts)

    def reduce(self, tensors: Any = None, opts: Any = None, op: ReduceOp | None = None,
               timeout: timedelta | None = None, *, tensor: Tensor | None = None, root: int | None = None) -> Work:
        tensors = _listed(tensors if tensor is None else tensor)
        opts = _filled(options.ReduceOptions, opts, timeout, rootRank=root, reduceOp=op)
        return self._of(tensors[0]).reduce(tensors, opts)

    def allgather(self, output_tensors: Any, input_tensors: Any = None, opts: Any = None,
                  timeout: timedelta | None = None, *, input_tensor: Tensor | None = None) -> Work:
        inputs = input_tensors if input_tensor is None else input_tensor
        if isinstance(inputs, TensorBase):
            output_tensors, inputs = [output_tensors], [inputs]
        opts = _filled(options.AllgatherOptions, opts, timeout)
        return self._of(inputs[0]).allgather(output_tensors, inputs, opts)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        return self._of(input)._allgather_base(output, input, opts or options.AllgatherOptions())

    def allgather_coalesced(self, output_lists: Any, input_list: Any, opts: Any = None) -> Work:
        return self._of(input_list[0]).allgather_coalesced(output_lists, input_list, opts or options.AllgatherOptions())

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        return self._of(inputs[0]).allgather_into_tensor_coalesced(outputs, inputs, opts or options.AllgatherOptions())

    def reduce_scatter(self, output_tensors: Any = None, input_tensors: Any = None, opts: Any = None,
                       timeout: timedelta | None = None, *, output: Tensor | None = None, input: Any = None,
                       op: ReduceOp | None = None) -> Work:
        outputs = output_tensors if output is None else output
        inputs = input_tensors if input is None else input
        if isinstance(outputs, TensorBase):
            outputs, inputs = [outputs], [inputs]
        opts = _filled(options.ReduceScatterOptions, opts, timeout, reduceOp=op)
        return self._of(outputs[0]).reduce_scatter(outputs, inputs, opts)

    def _reduce_scatter_base(self, outputTensor: Tensor, inputTensor: Tensor, opts: Any = None) -> Work:
        return self._of(inputTensor)._reduce_scatter_base(
            outputTensor, inputTensor, opts or options.ReduceScatterOptions())

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        opts = opts or options.ReduceScatterOptions()
        return self._of(inputs[0]).reduce_scatter_tensor_coalesced(outputs, inputs, opts)

    def gather(self, output_tensors: Any, input_tensors: Any = None, opts: Any = None,
               timeout: timedelta | None = None, *, input_tensor: Tensor | None = None,
               root: int | None = None) -> Work:
        inputs = input_tensors if input_tensor is None else input_tensor
        if isinstance(inputs, TensorBase):
            output_tensors, inputs = [output_tensors] if output_tensors else [], [inputs]
        opts = _filled(options.GatherOptions, opts, timeout, rootRank=root)
        return self._of(inputs[0]).gather(output_tensors, inputs, opts)

    def scatter(self, output_tensors: Any = None, input_tensors: Any = None, opts: Any = None,
                timeout: timedelta | None = None, *, output_tensor: Tensor | None = None,
                root: int | None = None) -> Work:
        outputs = output_tensors if output_tensor is None else output_tensor
        if isinstance(outputs, TensorBase):
            outputs, input_tensors = [outputs], [input_tensors] if input_tensors else []
        opts = _filled(options.ScatterOptions, opts, timeout, rootRank=root)
        return self._of(outputs[0]).scatter(outputs, input_tensors, opts)

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        return self._of(input_tensors[0]).alltoall(output_tensors, input_tensors, opts or options.AllToAllOptions())

    def alltoall_base(self, output: Tensor, input: Tensor, output_split_sizes: Any, input_split_sizes: Any,
                      opts: Any = None, timeout: timedelta | None = None) -> Work:
        opts = _filled(options.AllToAllOptions, opts, timeout)
        return self._of(input).alltoall_base(output, input, output_split_sizes, input_split_sizes, opts)

    all_gather_single, all_gather_single_coalesced = _allgather_base, allgather_into_tensor_coalesced
    reduce_scatter_single, reduce_scatter_single_coalesced = _reduce_scatter_base, reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    def send(self, tensors: list[Tensor], dstRank: int, tag: int) -> Work:
        return self._of(tensors[0]).send(tensors, dstRank, tag)

    def recv(self, tensors: list[Tensor], srcRank: int, tag: int) -> Work:
        return self._of(tensors[0]).recv(tensors, srcRank, tag)

    def recv_anysource(self, tensors: list[Tensor], tag: int) -> Work:
        return self._of(tensors[0]).recv_anysource(tensors, tag)

    def barrier(self, opts: Any = None, timeout: timedelta | None = None) -> Work:
        opts = _filled(options.BarrierOptions, opts, timeout)
        if not self._backends:
            return CompletedWork(options.OpType.BARRIER)
        chosen = self._default_backend() if opts.device is None else self._get_backend(opts.device)
        return chosen.barrier(opts)

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """A barrier that names the ranks that do not come, on the CPU."""
        made = options.BarrierOptions()
        made.timeout = UNSET_TIMEOUT if timeout is None else timeout
        self._get_backend(device("cpu")).monitored_barrier(made, wait_all_ranks)


for _member in BackendType:
    setattr(ProcessGroup, _member.name, _member)
