"""The engine "hccl": CANN's collectives between NPUs.

Each device of a group has a communicator, made at its first collective, for which rank 0 tells the others over the
store where they meet. A collective that its caller waits for runs on the current stream. One with async_op runs on a
stream of its own, behind what the current stream has so far; Work.wait() makes the current stream wait for its event.

The group's time-out is that of HCCL's operations: one that does not end in time is an error of the device, which names
the ranks that did not come. The next synchronisation raises it.
"""
from __future__ import annotations

import math
import os
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import _backend, npu
from mindtorch.distributed import _watchdog
from mindtorch.distributed._backend import Backend
from mindtorch.distributed._options import OpType, RedOpType, reduction
from mindtorch.distributed._stores import DistBackendError
from mindtorch.distributed._work import Work
from mindtorch.futures import Future

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["ProcessGroupHCCL", "create_backend"]

MAX_SECONDS = 2**31 - 1
NAME = "hccl"
OPS = SimpleNamespace(**OpType.__members__)     # a member of an Enum costs as much as a Work
BLOCKING_WAIT = os.environ.get("TORCH_HCCL_BLOCKING_WAIT") == "1"       # Work.wait() lets the host wait


def create_backend(options: Any, pg_options: Any = None) -> ProcessGroupHCCL:
    """The engine of a group, from its DistributedBackendOptions."""
    made = ProcessGroupHCCL(options.store, options.group_rank, options.group_size, options.timeout, pg_options)
    made._global_ranks = options.global_ranks_in_group
    return made


class HcclWork(_backend.stream_work(), Work):
    """A collective on a stream."""

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        text = self.communicator.async_error()
        return None if text is None else RuntimeError(text)

    def block_current_stream(self) -> None:
        self.synchronize()

    def result(self) -> Any:
        return self.tensors

    def get_future(self) -> Future:
        self.synchronize()      # the caller uses the tensors on the current stream
        future = Future()
        future.set_result(self.tensors)
        return future

    def _get_op_type(self) -> int:
        return self.op_type.value


class ProcessGroupHCCL(_backend.group_on_streams(), Backend):
    """The collectives of a group of ranks on NPUs."""

    supports_coalescing = True

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, options: Any = None) -> None:
        hccl = self._hccl = _backend.hccl()
        of_hccl = {RedOpType.SUM: hccl.SUM, RedOpType.PRODUCT: hccl.PROD, RedOpType.MAX: hccl.MAX,
                   RedOpType.MIN: hccl.MIN}
        super().__init__(HcclWork, BLOCKING_WAIT, of_hccl)
        Backend.__init__(self, rank, size, timeout)
        self._store, self._options = store, options
        self._reductions = {**of_hccl, RedOpType.AVG: hccl.SUM, RedOpType.PREMUL_SUM: hccl.SUM}
        self._global_ranks = range(size)
        self._coalesced: Any = None     # inside _coalescing_manager: the sends and receives, and all tensors

    def name(self) -> str:
        return NAME

    @property
    def options(self) -> Any:
        if self._options is None:
            self._options = Backend.Options(NAME, self._timeout)
        return self._options

    # Communicators

    def _channel(self, index: int) -> Any:
        """The communicator of all ranks, for a device of this one."""
        return self._channels.get(index) or self._connect(
            index, f"group_{len(self._channels)}", self._rank, self._size)

    def _pair(self, device: Any, peer: int) -> Any:
        """The communicator of this rank and another. No other rank takes part."""
        low, high = sorted((self._rank, peer))
        return self._channels.get((device.index, peer)) or self._connect(
            (device.index, peer), f"pair_{low}_{high}", int(self._rank == high), 2)

    def _connect(self, key, name, rank, size):
        index = key if isinstance(key, int) else key[0]
        if npu.is_current_stream_capturing():
            raise RuntimeError("The first collective of a group connects its ranks, which a graph cannot capture: call "
                               "one before the capture")
        seconds = min(math.ceil(self._timeout.total_seconds()), MAX_SECONDS)
        try:
            if rank == 0:
                root_info = self._hccl.get_root_info(index)
                self._store.set(name, root_info)
            else:
                root_info = self._store.get(name)
            communicator = self._hccl.Communicator(root_info, size, rank, index, seconds)
        except RuntimeError as error:
            root = self.global_rank(0 if isinstance(key, int) else min(self._rank, key[1]))
            raise DistBackendError(f"[Rank {self.global_rank(self._rank)}] {size} ranks of group {self.group_name!r} "
                                   f"have not met at rank {root} for their first collective: {error}") from None
        if not self._channels:
            _watchdog.watch(self)
        channel = self._channels[key] = self._make_channel(communicator, npu.Stream(index))
        return channel

    def eager_connect_single_device(self, device: Any) -> None:
        self._channel(device.index)

    def shutdown(self) -> None:
        try:
            for channel in self._channels.values():
                channel.communicator.synchronize()
        finally:
            self.abort()

    def abort(self) -> None:
        _watchdog.unwatch(self)
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            channel.communicator.destroy()

    # What the watchdog asks

    def global_rank(self, rank: int) -> int:
        """The global rank of a rank of this group."""
        return self._global_ranks[rank]

    def failure(self) -> str | None:
        """The error of a collective that HCCL or the device has found since, or None."""
        for channel in list(self._channels.values()):
            text = channel.communicator.async_error() or channel.communicator.device_error()
            if text is not None:
                return text
        return None

    def is_idle(self) -> bool:
        """Whether all collectives have ended."""
        return all(channel.communicator.is_idle() for channel in list(self._channels.values()))

    # Reductions

    def _prepared(self, tensor, op):
        """What HCCL reduces in place of `tensor`, and how."""
        kind = reduction(op)
        if kind not in self._reductions:
            raise ValueError(f"Cannot use ReduceOp.{kind.name} with HCCL")
        code = self._reductions[kind]
        if kind is RedOpType.PREMUL_SUM:
            tensor = tensor * op.factor
        elif tensor.dtype in (mindtorch.bool, mindtorch.uint8):
            if tensor.dtype is mindtorch.bool:      # a sum of bools is true where one of them is
                if kind is RedOpType.AVG:
                    raise ValueError("Cannot use ReduceOp.AVG with Bool inputs")
                code = {self._hccl.SUM: self._hccl.MAX, self._hccl.PROD: self._hccl.MIN}.get(code, code)
            tensor = tensor.to(mindtorch.int32)
        return tensor, code

    def _write_reduced(self, output, reduced, op):
        if reduced is not output:
            output.copy_(reduced)
        if reduction(op) is RedOpType.AVG:
            if output.is_floating_point():
                output.div_(self._size)
            else:
                output.div_(self._size, rounding_mode="trunc")

    def _reduce_to(self, communicator, method, output, tensor, op, *args):
        with mindtorch.no_grad():
            sent, code = self._prepared(tensor, op)
            received = output if sent.dtype == output.dtype else mindtorch.empty_like(output, dtype=sent.dtype)
            method(communicator, received, sent, *args, code)
            self._write_reduced(output, received, op)

    def allreduce(self, tensors: Any, opts: Any) -> Work:
        return self._run(OPS.ALLREDUCE, tensors, tensors, opts, self._all_reduce)

    def allreduce_coalesced(self, tensors: Any, opts: Any) -> Work:
        return self._run(OPS.ALLREDUCE_COALESCED, tensors, tensors, opts, self._all_reduce)

    def reduce(self, tensors: Any, opts: Any) -> Work:
        return self._run(OPS.REDUCE, tensors, tensors, opts, self._reduce)

    def _reduce(self, communicator, outputs, inputs, opts):
        with mindtorch.no_grad():
            sent, code = self._prepared(outputs[0], opts.reduceOp)
            communicator.reduce(sent, sent, code, opts.rootRank)
            if self._rank == opts.rootRank:
                self._write_reduced(outputs[0], sent, opts.reduceOp)

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any) -> Work:
        return self._run(OPS._REDUCE_SCATTER_BASE, [output], [input], opts, self._reduce_scatters)

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.REDUCE_SCATTER_TENSOR_COALESCED, outputs, inputs, opts, self._reduce_scatters)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.REDUCE_SCATTER, outputs, inputs[0], opts, self._reduce_scatter_pieces)

    def _reduce_scatter_pieces(self, communicator, outputs, inputs, opts):
        output, counts = outputs[0], [piece.numel() for piece in inputs]
        with mindtorch.no_grad():
            joined = mindtorch.cat([piece.reshape(-1) for piece in inputs])
            if all(count == output.numel() for count in counts):
                self._reduce_to(communicator, self._hccl.Communicator.reduce_scatter, output, joined, opts.reduceOp)
            else:
                self._reduce_to(communicator, self._hccl.Communicator.reduce_scatter_v, output, joined, opts.reduceOp,
                                counts)

    # Copies

    def broadcast(self, tensors: Any, opts: Any) -> Work:
        return self._run(OPS.BROADCAST, tensors, tensors, opts, self._broadcast)

    def _broadcast(self, communicator, outputs, inputs, opts):
        communicator.broadcast(outputs[0], opts.rootRank)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any) -> Work:
        return self._run(OPS._ALLGATHER_BASE, [output], [input], opts, self._all_gathers)

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.ALLGATHER_COALESCED, outputs, inputs, opts, self._all_gathers)

    def allgather(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.ALLGATHER, outputs, inputs, opts, self._all_gather_places)

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.ALLGATHER_COALESCED, outputs, inputs, opts, self._all_gather_places)

    def _all_gather_places(self, communicator, outputs, inputs, opts):
        for places, tensor in zip(outputs, inputs, strict=True):
            self._all_gather(communicator, places, tensor)

    def _all_gather(self, communicator, places, tensor):
        with mindtorch.no_grad():
            counts = [place.numel() for place in places]
            joined = mindtorch.empty(sum(counts), dtype=tensor.dtype, device=tensor.device)
            if all(count == tensor.numel() for count in counts):
                communicator.all_gather(joined, tensor)
            else:
                communicator.all_gather_v(joined, tensor, counts)
            self._unflatten_into(joined, places, counts)

    @staticmethod
    def _unflatten_into(joined, places, counts):
        for place, piece in zip(places, joined.split(counts), strict=True):
            place.copy_(piece.view(place.shape))

    def gather(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        """HCCL has no gather: all ranks send to the root."""
        return self._run(OPS.GATHER, outputs, inputs, opts, self._gather)

    def _gather(self, communicator, outputs, inputs, opts):
        root, tensor = opts.rootRank, inputs[0]
        if self._rank != root:
            return communicator.batch_send_recv([(True, tensor, root)])
        with mindtorch.no_grad():
            outputs[0][root].copy_(tensor)
        return communicator.batch_send_recv(
            [(False, place, rank) for rank, place in enumerate(outputs[0]) if rank != root])

    def scatter(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.SCATTER, outputs, inputs[0] if inputs else [], opts, self._scatter)

    def _scatter(self, communicator, outputs, inputs, opts):
        with mindtorch.no_grad():
            joined = mindtorch.cat([piece.reshape(-1) for piece in inputs]) if inputs else None
        communicator.scatter(outputs[0], joined, opts.rootRank)

    def alltoall(self, outputs: Any, inputs: Any, opts: Any) -> Work:
        return self._run(OPS.ALLTOALL, outputs, inputs, opts, self._all_to_all)

    def _all_to_all(self, communicator, outputs, inputs, opts):
        with mindtorch.no_grad():
            sent = mindtorch.cat([tensor.reshape(-1) for tensor in inputs])
            counts = [tensor.numel() for tensor in outputs]
            received = mindtorch.empty(sum(counts), dtype=sent.dtype, device=sent.device)
            communicator.all_to_all(received, sent, counts, [tensor.numel() for tensor in inputs])
            self._unflatten_into(received, outputs, counts)

    def alltoall_base(self, output: Tensor, input: Tensor, output_split_sizes: Any, input_split_sizes: Any,
                      opts: Any) -> Work:
        counts = [self._counts_per_rank(output, output_split_sizes), self._counts_per_rank(input, input_split_sizes)]

        def collective(communicator, outputs, inputs, opts):
            communicator.all_to_all(output, input, *counts)
        return self._run(OPS.ALLTOALL_BASE, [output], [input], opts, collective)

    def _counts_per_rank(self, tensor, rows):
        """Elements for each rank, of so many rows each; equal ones where nothing is said."""
        if not rows:
            if tensor.shape[0] % self._size:
                raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
            return [tensor.numel() // self._size] * self._size
        if sum(rows) != tensor.shape[0]:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        width = math.prod(tensor.shape[1:])
        return [row * width for row in rows]

    # Sends, receives, barriers

    def send(self, tensors: Any, rank: int, tag: int) -> Work:
        return self._transfer(OPS.SEND, True, tensors, rank)

    def recv(self, tensors: Any, rank: int, tag: int) -> Work:
        return self._transfer(OPS.RECV, False, tensors, rank)

    def _transfer(self, op_type, sends, tensors, peer):
        tensor = tensors[0]
        if self._coalesced is not None:
            self._coalesced.append((sends, tensor, peer))
            return None
        def collective(communicator, outputs, inputs, opts):
            (communicator.send if sends else communicator.recv)(tensor, int(peer > self._rank))
        return self._run(op_type, tensors, tensors, None, collective, self._pair(tensor.device, peer))

    def _start_coalescing(self) -> None:
        self._coalesced = []

    def _end_coalescing(self) -> Work | None:
        items, self._coalesced = self._coalesced, None
        if not items:
            return None
        tensors = [tensor for _, tensor, _ in items]

        def collective(communicator, outputs, inputs, opts):
            communicator.batch_send_recv(items)
        return self._run(OPS.COALESCED, tensors, tensors, None, collective)

    def barrier(self, opts: Any) -> Work:
        indices = opts.device_ids or [index for index in self._channels if isinstance(index, int)]
        channel = self._channel(indices[0] if indices else npu.current_device())

        def collective(communicator, outputs, inputs, opts):
            communicator.barrier()
        work = self._run(OPS.BARRIER, [], [], None, collective, channel)
        work.blocks = True
        return work
