"""Backend: what an engine offers to the process groups of a device type."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mindtorch.distributed._options import UNSET_TIMEOUT

if TYPE_CHECKING:
    from mindtorch.distributed._options import OpType
    from mindtorch.distributed._stores import Store

__all__ = ["Backend", "DistributedBackendOptions"]


@dataclass
class DistributedBackendOptions:
    """The arguments for making an engine. The store has its own keys for this engine of this group."""

    store: Store
    group_rank: int
    group_size: int
    timeout: timedelta
    group_id: str
    global_ranks_in_group: list[int]


class Backend:
    """The collectives of one group of ranks on one device type. An engine overrides those that it supports.

    Tensors come in lists, of which only the first is used except by `*_coalesced` and where a list has an element for
    each rank. Roots and peers are ranks of the group. Every collective returns a Work; the caller waits for it.
    """

    class Options:
        """The options of an engine, `pg_options` of init_process_group."""

        def __init__(self, backend: str = "", timeout: timedelta = timedelta(minutes=30)) -> None:
            self.backend, self._timeout = backend, timeout
            self.global_ranks_in_group, self.group_name = [], ""

    supports_coalescing = supports_splitting = supports_shrinking = supports_time_estimate = False

    def __init__(self, rank: int, size: int, timeout: timedelta | None = None) -> None:
        self._rank, self._size = rank, size
        self._timeout = timeout
        self._sequence_number = 0
        self._recent: deque[OpType] = deque(maxlen=64)      # the kinds of the last collectives, for the watchdog
        self.group_name, self.group_desc = "", ""

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks the group has."""
        return self._size

    def name(self) -> str:
        """The engine's name, as init_process_group takes it."""
        raise NotImplementedError("a Backend has a name()")

    def _get_backend_name(self) -> str:
        return self.name()

    @property
    def options(self) -> Any:
        raise RuntimeError(f"Backend {self.name()} does not have options")

    def set_timeout(self, timeout: timedelta) -> None:
        """How long its collectives may take from now on."""
        self._timeout = timeout

    def _timeout_of(self, opts: Any) -> timedelta:
        """The time-out of one call: that of its options or the group's."""
        return self._timeout if opts.timeout == UNSET_TIMEOUT else opts.timeout

    def _set_sequence_number_for_group(self) -> None:
        self._sequence_number = 0

    def _get_sequence_number_for_group(self) -> int:
        """How many collectives the group has started."""
        return self._sequence_number

    def eager_connect_single_device(self, device: Any) -> None:
        """Connect the ranks now rather than at the first collective, where the engine can."""

    def supports_tensor_alloc(self, device: Any) -> bool:
        """Whether `allocate_tensor` gives memory on which the engine is faster."""
        return False

    def shutdown(self) -> None:
        """Release what the engine holds for this group, when all its collectives have ended."""

    def abort(self) -> None:
        """Release what the engine holds for this group; collectives under way end with an error."""

    def _start_coalescing(self) -> None:
        self._refuse("startCoalescing")

    def _end_coalescing(self) -> Any:
        return self._refuse("endCoalescing")

    def _refuse(self, operation):
        raise RuntimeError(f"Backend {self.name()} does not support {operation}")


def _refusing(operation, description):
    def refuse(self: Backend, *args: Any, **kwargs: Any) -> Any:
        return self._refuse(operation)
    refuse.__doc__ = description
    refuse.__name__ = operation
    return refuse


# name -> (torch's name for it in the error, what it is given)
_COLLECTIVES = {
    "allreduce": ("allreduce", "tensors, opts: AllreduceOptions"),
    "allreduce_coalesced": ("allreduce_coalesced", "tensors, opts: AllreduceCoalescedOptions"),
    "broadcast": ("broadcast", "tensors, opts: BroadcastOptions"),
    "reduce": ("reduce", "tensors, opts: ReduceOptions"),
    "allgather": ("allgather", "[[a tensor for each rank]], [tensor], opts: AllgatherOptions"),
    "_allgather_base": ("_allgather_base", "output, input, opts: AllgatherOptions"),
    "allgather_coalesced": ("allgather_coalesced", "for each rank a list with one for each tensor, tensors, opts"),
    "allgather_into_tensor_coalesced": ("allgather_into_tensor_coalesced", "outputs, inputs, opts"),
    "reduce_scatter": ("reduce_scatter", "[tensor], [[a tensor for each rank]], opts: ReduceScatterOptions"),
    "_reduce_scatter_base": ("_reduce_scatter_base", "output, input, opts: ReduceScatterOptions"),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter_tensor_coalesced", "outputs, inputs, opts"),
    "gather": ("gather", "[[a tensor for each rank]] or [] off the root, [tensor], opts: GatherOptions"),
    "scatter": ("scatter", "[tensor], [[a tensor for each rank]] or [] off the root, opts: ScatterOptions"),
    "alltoall": ("alltoall", "a tensor from each rank, a tensor to each rank, opts: AllToAllOptions"),
    "alltoall_base": ("alltoall_base", "output, input, rows from each rank, rows to each rank ([]: equal), opts"),
    "barrier": ("barrier", "opts: BarrierOptions"),
    "send": ("send", "[tensor], rank, tag"),
    "recv": ("recv", "[tensor], rank, tag"),
    "recv_anysource": ("recvAnysource", "[tensor], tag"),
    "monitored_barrier": ("monitoredBarrier", "opts: BarrierOptions, wait_all_ranks"),
}
for _name, (_operation, _description) in _COLLECTIVES.items():
    setattr(Backend, _name, _refusing(_operation, _description))
