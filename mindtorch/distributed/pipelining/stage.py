"""torch.distributed.pipelining.stage: the part of a model that one rank computes, and its messages to neighbours."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Tensor, nn
from mindtorch._submodules import module_getattr
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._objects import recv_object_list, send_object_list
from mindtorch.distributed._world import get_rank, get_world_size
from mindtorch.distributed.fsdp import FSDPModule
from mindtorch.distributed.tensor import DTensor
from mindtorch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch.distributed._process_group import ProcessGroup

__all__ = ["PipelineStage", "PipeliningMetadataError"]


class PipeliningMetadataError(RuntimeError):
    """A stage's tensors differ in shape or dtype from those of its first microbatch."""


class _Channel:
    """Sends tensors between two stages in one direction. The first message has their number, shapes and dtypes."""

    def __init__(self, group: ProcessGroup | None, peer: int, device: Any, description: str) -> None:
        self._group, self._peer, self._device, self._description = group, peer, device, description
        self._metas: list | None = None
        self._sent: list = []           # (work, tensor), until wait()

    def send(self, tensors: list[Tensor]) -> None:
        """Begin to send."""
        metas = [(tuple(each.shape), each.dtype) for each in tensors]
        if self._metas is None:
            send_object_list([metas], group=self._group, group_dst=self._peer, device=self._device)
            self._metas = metas
        if metas != self._metas:
            raise PipeliningMetadataError(f"{self._description}: tensors of {metas}, after a microbatch with tensors "
                                          f"of {self._metas}")
        self._sent = [(work, each) for work, each in self._sent if not work.is_completed()]
        for each in tensors:
            sent = each.detach().contiguous()
            self._sent.append((collectives.isend(sent, group=self._group, group_dst=self._peer), sent))

    def receive(self) -> list[tuple[Any, Tensor]]:
        """Begin to receive: (work, tensor) of each."""
        if self._metas is None:
            message = [None]
            recv_object_list(message, group=self._group, group_src=self._peer, device=self._device)
            self._metas = message[0]
        tensors = [mindtorch.empty(shape, dtype=dtype, device=self._device) for shape, dtype in self._metas]
        return [(collectives.irecv(each, group=self._group, group_src=self._peer), each) for each in tensors]

    def wait(self) -> None:
        """Wait until all that was sent may be changed."""
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()


def _differentiable(tensors):
    """Those that have gradients: stages on both sides of a channel agree by the dtypes."""
    return [each for each in tensors if each.is_floating_point() or each.is_complex()]


class PipelineStage:
    """One of `num_stages` parts of a model, one after the other. Stage i lies on rank i % ranks of the group.

    `submodule` takes what the stage before returns, a tensor or several, and the keyword arguments of `step`; the
    first stage takes the positional arguments of `step`. Shapes and dtypes are those of the first microbatch, so that
    examples (`input_args`, ...) are not needed and not looked at.

    Arguments:
        submodule: the module of this stage
        input_args: not read: the first run finds out the shapes
        output_args: not read
        output_grads: not read
        input_grads: not read
        dw_builder: a function that gives another function, which computes the gradients of the weights
        get_mesh: not read

    Example:
        >>> stage = dist.pipelining.PipelineStage(torch.nn.Linear(2, 2), 0, 1, torch.device("cpu"))
        >>> stage.is_first, stage.is_last
        (True, True)
    """

    def __init__(self, submodule: nn.Module, stage_index: int, num_stages: int, device: Any, input_args: Any = None,
                 output_args: Any = None, output_grads: Any = None, input_grads: Any = None,
                 group: ProcessGroup | None = None, dw_builder: Callable | None = None,
                 get_mesh: Callable | None = None) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if dw_builder is not None:
            raise NotImplementedError("PipelineStage: dw_builder is for schedules with zero bubbles, which mindtorch "
                                      "has not")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = mindtorch.device(device), group
        self.group_rank, self.group_size = get_rank(group), get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                               f"{num_stages}")
        self.stage_index_to_group_rank = {stage: stage % self.group_size for stage in range(num_stages)}
        self.has_backward = False
        self.output_chunks: list[Any] = []
        self._adjacent_stages: dict[int, PipelineStage] = {}     # those on this rank
        self._channels: dict[tuple[int, str], _Channel] = {}
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether no stage comes before."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether no stage comes after."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Forget the microbatches of the step before."""
        self.output_chunks.clear()
        self._pending_receives: dict[tuple[str, int], list] = {}     # (direction, microbatch) -> (work, tensor) of each
        self._inputs: dict[int, list[Tensor]] = {}
        self._outputs: dict[int, list[Tensor]] = {}
        self._input_gradients: dict[int, list[Tensor]] = {}

    # Messages: activations go "forward" to the next stage, gradients "backward" to the one before

    def _channel(self, stage, direction):
        if (stage, direction) not in self._channels:
            self._channels[stage, direction] = _Channel(
                self.group, self.stage_index_to_group_rank[stage], self.device,
                f"stage {self.stage_index}, {direction}")
        return self._channels[stage, direction]

    def receive(self, direction: str, microbatch: int) -> None:
        """Begin to receive activations ("forward") or gradients ("backward")."""
        stage = self.stage_index + (1 if direction == "backward" else -1)
        self._pending_receives[direction, microbatch] = self._channel(stage, direction).receive()

    def send(self, direction: str, microbatch: int) -> None:
        """Begin to send this stage's outputs ("forward"), or the gradients of its inputs ("backward")."""
        if direction == "forward":
            self._channel(self.stage_index + 1, direction).send(self._outputs[microbatch])
            if not self.has_backward:
                del self._outputs[microbatch]
        else:
            self._channel(self.stage_index - 1, direction).send(self._input_gradients.pop(microbatch))

    def wait_for_sends(self) -> None:
        """Waits until the tensors that were sent are no longer needed."""
        for channel in self._channels.values():
            channel.wait()

    def _received(self, direction, microbatch):
        """The tensors that an adjacent stage has sent."""
        if direction == "forward" and self.stage_index - 1 in self._adjacent_stages:
            outputs = self._adjacent_stages[self.stage_index - 1]._outputs
            return outputs[microbatch] if self.has_backward else outputs.pop(microbatch)
        if direction == "backward" and self.stage_index + 1 in self._adjacent_stages:
            return self._adjacent_stages[self.stage_index + 1]._input_gradients.pop(microbatch)
        arriving = self._pending_receives.pop((direction, microbatch))
        for work, _ in arriving:
            work.wait()
        return [tensor for _, tensor in arriving]

    # Computing

    def forward_one_chunk(self, fwd_chunk_id: int, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """The output for a microbatch; `args` are those of the first stage."""
        if not self.is_first:
            args = tuple(each.detach() for each in self._received("forward", fwd_chunk_id))
            if self.has_backward:
                for each in _differentiable(args):
                    each.requires_grad_()
        # The gradients of a DistributedDataParallel are reduced after the last microbatch.
        with self.submod.no_sync() if isinstance(self.submod, DistributedDataParallel) else contextlib.nullcontext():
            output = self.submod(*args, **(kwargs or {}))
        outputs = list(output) if isinstance(output, (list, tuple)) else [output]
        if self.is_last:
            self.output_chunks.append(output)
        else:
            self._check_outputs(outputs)
        if self.has_backward:
            self._inputs[fwd_chunk_id] = [] if self.is_first else list(args)
        if self.has_backward or not self.is_last:
            self._outputs[fwd_chunk_id] = outputs
        return output

    def _check_outputs(self, outputs):
        for each in outputs:
            if not isinstance(each, Tensor):
                raise TypeError(f"stage {self.stage_index} must return tensors for the next one, not {type(each)}")
            if isinstance(each, DTensor):
                raise NotImplementedError(f"stage {self.stage_index} returns a DTensor; let it return to_local() of it")

    def backward_one_chunk(self, bwd_chunk_id: int, loss: Tensor | None = None, last_backward: bool = False) -> None:
        """The backward of a microbatch, from its loss in the last stage; after the `last_backward` gradients of data
        parallel modules are reduced.
        """
        outputs, inputs = self._outputs.pop(bwd_chunk_id), self._inputs.pop(bwd_chunk_id)
        if self.is_last:
            roots, gradients = [loss], [None]
        else:
            arrived = zip(_differentiable(outputs), self._received("backward", bwd_chunk_id), strict=True)
            found = [pair for pair in arrived if pair[0].requires_grad]
            roots, gradients = ([pair[place] for pair in found] for place in (0, 1))
        self._prepare_reduction(roots, last_backward)
        if roots:
            mindtorch.autograd.backward(roots, gradients)
        if not self.is_first:
            self._input_gradients[bwd_chunk_id] = [mindtorch.zeros_like(each) if each.grad is None else each.grad
                                                   for each in _differentiable(inputs)]

    def _prepare_reduction(self, roots, last):
        if isinstance(self.submod, FSDPModule):
            self.submod.set_is_last_backward(last)
            self.submod.set_reshard_after_backward(last)
            self.submod.set_requires_gradient_sync(last)
        elif isinstance(self.submod, DistributedDataParallel) and last:
            self.submod.reducer.active = True
            self.submod.reducer.prepare(roots)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of parameters."""
        if grad_scale_factor == 1:
            return
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(grad_scale_factor)


__getattr__ = module_getattr(__name__)
