"""The engine "fake": no rank but this one exists, and collectives leave their results as they are.

A gather or all_gather has this rank's tensor in every place, and a reduce_scatter its share of the input.
"""
from __future__ import annotations

from typing import Any

from mindtorch.distributed._backend import Backend
from mindtorch.distributed._options import OpType
from mindtorch.distributed._stores import Store
from mindtorch.distributed._work import CompletedWork

__all__ = ["FakeProcessGroup", "FakeStore", "FakeWork", "create_backend"]


class FakeStore(Store):
    """A store for groups that do not use one."""


class FakeWork(CompletedWork):
    """A collective that has been done."""


class FakeProcessGroup(Backend):
    """A group of which this process plays one rank."""

    supports_coalescing = True

    def name(self) -> str:
        return "fake"

    def allreduce(self, tensors: Any, opts: Any) -> FakeWork:
        return FakeWork(OpType.ALLREDUCE, tensors)

    allreduce_coalesced = broadcast = reduce = allreduce

    def allgather(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        for output in outputs[0]:
            output.copy_(inputs[0])
        return FakeWork(OpType.ALLGATHER, outputs)

    def _allgather_base(self, output: Any, input: Any, opts: Any) -> FakeWork:
        for chunk in output.chunk(self._size):
            chunk.copy_(input.view_as(chunk))
        return FakeWork(OpType._ALLGATHER_BASE, [output])

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        for places in outputs:
            for place, tensor in zip(places, inputs, strict=True):
                place.copy_(tensor)
        return FakeWork(OpType.ALLGATHER_COALESCED, outputs)

    def allgather_into_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        for output, tensor in zip(outputs, inputs, strict=True):
            self._allgather_base(output, tensor, opts)
        return FakeWork(OpType.ALLGATHER_COALESCED, outputs)

    def gather(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        return self.allgather(outputs, inputs, opts) if outputs else FakeWork(OpType.GATHER)

    def scatter(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        if inputs:
            outputs[0].copy_(inputs[0][self._rank])
        return FakeWork(OpType.SCATTER, outputs)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        outputs[0].copy_(inputs[0][self._rank])
        return FakeWork(OpType.REDUCE_SCATTER, outputs)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any) -> FakeWork:
        output.copy_(input.chunk(self._size)[self._rank].view_as(output))
        return FakeWork(OpType._REDUCE_SCATTER_BASE, [output])

    def reduce_scatter_tensor_coalesced(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        for output, tensor in zip(outputs, inputs, strict=True):
            self._reduce_scatter_base(output, tensor, opts)
        return FakeWork(OpType.REDUCE_SCATTER_TENSOR_COALESCED, outputs)

    def alltoall(self, outputs: Any, inputs: Any, opts: Any) -> FakeWork:
        for output, tensor in zip(outputs, inputs, strict=True):
            output.copy_(tensor)
        return FakeWork(OpType.ALLTOALL, outputs)

    def alltoall_base(self, output: Any, input: Any, output_splits: Any, input_splits: Any, opts: Any) -> FakeWork:
        if output.shape == input.shape:
            output.copy_(input)
        return FakeWork(OpType.ALLTOALL_BASE, [output])

    def barrier(self, opts: Any) -> FakeWork:
        return FakeWork(OpType.BARRIER)

    def send(self, tensors: Any, rank: int, tag: int) -> FakeWork:
        return FakeWork(OpType.SEND, tensors)

    recv = send

    def recv_anysource(self, tensors: Any, tag: int) -> FakeWork:
        return FakeWork(OpType.RECVANYSOURCE, tensors)

    def _start_coalescing(self) -> None:
        pass

    def _end_coalescing(self) -> FakeWork:
        return FakeWork(OpType.COALESCED)


def create_backend(options: Any, pg_options: Any = None) -> FakeProcessGroup:
    """The engine of a group."""
    return FakeProcessGroup(options.group_rank, options.group_size, options.timeout)
