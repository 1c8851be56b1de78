"""torch.distributed.pipelining.schedules: the order in which ranks work on microbatches."""
from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _split_tensor,
    merge_chunks,
    split_args_kwargs_into_chunks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mindtorch import Tensor
    from mindtorch.distributed.pipelining.stage import PipelineStage

__all__ = ["PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleGPipe",
           "ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "get_schedule_class"]


class _ComputationType(StrEnum):
    FORWARD = "F"
    FULL_BACKWARD = "B"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"


FORWARD, FULL_BACKWARD = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD
_MESSAGES = {FORWARD: (_ComputationType.SEND_F, _ComputationType.RECV_F, 1),
             FULL_BACKWARD: (_ComputationType.SEND_B, _ComputationType.RECV_B, -1)}    # and the way to the next stage


class _Action(NamedTuple):
    """What a stage does for a microbatch: "0F1" is the forward of stage 0 for microbatch 1."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int

    def __repr__(self) -> str:
        return f"{self.stage_index}{self.computation_type.value}{self.microbatch_index}"


def _add_messages(order: dict[int, list[_Action]], rank_of: dict[int, int]) -> dict[int, list[_Action]]:
    """The actions of each rank with its sends and receives, as if the ranks took turns.

    A send and its receive are entered at one time, so any two ranks have their messages in one order, and no rank
    waits for one that waits for it.
    """
    result: dict[int, list[_Action]] = {rank: [] for rank in order}
    left, done = {rank: list(actions) for rank, actions in order.items()}, set()
    last = len(rank_of) - 1

    def is_ready(action):
        stage, kind, microbatch = action
        if kind is FORWARD:
            return stage == 0 or _Action(stage - 1, FORWARD, microbatch) in done
        return _Action(stage, FORWARD, microbatch) in done and (
            stage == last or _Action(stage + 1, FULL_BACKWARD, microbatch) in done)

    while any(left.values()):
        taken = [(rank, actions.pop(0)) for rank, actions in left.items() if actions and is_ready(actions[0])]
        if not taken:
            raise RuntimeError(f"the schedule waits for itself: {left}")
        for rank, action in taken:
            result[rank].append(action)
            done.add(action)
            send, receive, step = _MESSAGES[action.computation_type]
            target = action.stage_index + step
            if 0 <= target <= last and rank_of[target] != rank:
                result[rank].append(action._replace(computation_type=send))
                result[rank_of[target]].append(_Action(target, receive, action.microbatch_index))
    return result


class _PipelineSchedule:
    """What all schedules share. They differ in the order of forwards, in that of backwards, and in how many forwards a
    rank does before its first backward; then it takes one of each in turn.
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable[..., Tensor] | None,
                 args_chunk_spec: tuple | None, kwargs_chunk_spec: dict | None, output_merge_spec: Any,
                 scale_grads: bool) -> None:
        self._stages, self._n_microbatches, self._loss_fn = stages, n_microbatches, loss_fn
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        self._num_stages = stages[0].num_stages
        self.rank, self.pp_group_size = stages[0].group_rank, stages[0].group_size
        self._stage_of = {stage.stage_index: stage for stage in stages}
        for stage in stages:
            stage._adjacent_stages = self._stage_of
        self.pipeline_order = {rank: self._actions(rank) for rank in range(self.pp_group_size)}
        self._with_messages: dict[bool, list[_Action]] = {}

    def _computations(self, rank: int) -> tuple[Iterable, Iterable, int]:
        """Forwards and backwards of a rank, as (stage, microbatch), and how many forwards come first."""
        raise NotImplementedError

    def _actions(self, rank):
        forwards, backwards, first = self._computations(rank)
        forwards = [_Action(stage, FORWARD, microbatch) for stage, microbatch in forwards]
        backwards = [_Action(stage, FULL_BACKWARD, microbatch) for stage, microbatch in backwards]
        both = len(forwards) - first
        turns = [action for pair in zip(forwards[first:], backwards, strict=False) for action in pair]
        return [*forwards[:first], *turns, *backwards[both:]]

    def _actions_with_messages(self):
        if self._has_backward not in self._with_messages:
            order = {rank: [action for action in actions if self._has_backward or action.computation_type is FORWARD]
                     for rank, actions in self.pipeline_order.items()}
            self._with_messages[self._has_backward] = _add_messages(
                order, self._stages[0].stage_index_to_group_rank)[self.rank]
        return self._with_messages[self._has_backward]

    def step(self, *args: Any, target: Tensor | None = None, losses: list | None = None, return_outputs: bool = True,
             loss_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        """Forward and, with a loss function, backward of a whole batch, which is cut into microbatches.

        The rank of the first stage gives the arguments, that of the last the target, and gets the outputs and, in
        `losses`, the loss of each microbatch. Keyword arguments are those of the stages of the rank that gives them.
        """
        if self._has_backward and not mindtorch.is_grad_enabled():
            raise RuntimeError("step() requires gradients to be enabled for backward computation; it should not be "
                               "used under torch.no_grad() context. Please call eval() instead.")
        count = self._n_microbatches
        arg_mbs, kwarg_mbs = split_args_kwargs_into_chunks(args, kwargs, count, self._args_chunk_spec if args else None,
                                                           self._kwargs_chunk_spec if kwargs else None)
        target_mbs = None if target is None else list(_split_tensor(target, TensorChunkSpec(0), count))
        self._step_microbatches(arg_mbs, kwarg_mbs, target_mbs, losses, return_outputs, loss_kwargs)
        for stage in self._stages:
            if stage.is_last and return_outputs:
                return merge_chunks(stage.output_chunks, self._output_merge_spec)
        return None

    def eval(self, *args: Any, target: Tensor | None = None, losses: list | None = None, **kwargs: Any) -> Any:
        """As `step`, without the backward."""
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _check_inputs(self, arg_mbs, kwarg_mbs, target_mbs, losses):
        for name, given in (("arg_mbs", arg_mbs), ("kwarg_mbs", kwarg_mbs), ("target_mbs", target_mbs)):
            if given is not None and not isinstance(given, list):
                raise TypeError(f"{name} must be a list but got a {type(given)}")
            if given is not None and len(given) != self._n_microbatches:
                raise ValueError(f"Expecting {self._n_microbatches} {name} but got {len(given)}")
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")

    def _step_microbatches(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None,
                           target_mbs: list | None = None, losses: list | None = None, return_outputs: bool = True,
                           loss_kwargs: dict[str, Any] | None = None) -> None:
        self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        found: dict[int, Tensor] = {}
        for stage in self._stages:
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        actions = self._actions_with_messages()
        backwards_left = Counter(action.stage_index for action in actions if action.computation_type is FULL_BACKWARD)
        for stage_index, kind, number in actions:
            stage = self._stage_of[stage_index]
            if kind is FORWARD:
                output = stage.forward_one_chunk(number, arg_mbs[number] if arg_mbs else (),
                                                 kwarg_mbs[number] if kwarg_mbs else {})
                if stage.is_last and self._loss_fn is not None and target_mbs is not None:
                    found[number] = self._loss_fn(output, target_mbs[number], **(loss_kwargs or {}))
            elif kind is FULL_BACKWARD:
                backwards_left[stage_index] -= 1
                if stage.is_last and number not in found:
                    raise RuntimeError(f"Loss for microbatch {number} is not available: `step` needs the target on the "
                                       "rank of the last stage")
                stage.backward_one_chunk(number, found.get(number) if stage.is_last else None,
                                         last_backward=not backwards_left[stage_index])
            else:
                action, _, direction = kind.partition("_")
                transfer = stage.send if action == "SEND" else stage.receive
                transfer("forward" if direction == "F" else "backward", number)
        for stage in self._stages:
            stage.wait_for_sends()
            if self._has_backward and self.scale_grads:
                stage.scale_grads(self._n_microbatches)
            if self._has_backward and stage.is_last:
                stage.output_chunks[:] = mindtorch.utils._pytree.tree_map_only(
                    mindtorch.Tensor, mindtorch.Tensor.detach, stage.output_chunks)
            if stage.is_last and losses is not None:
                losses[:] = [found[number] for number in sorted(found)]


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage for each rank. `loss_fn(output, target)` is the mean over a microbatch; with
    `scale_grads` gradients are divided by the number of microbatches, so that they are those of the whole batch.

    Example:
        >>> stage = dist.pipelining.PipelineStage(torch.nn.Linear(2, 1), 0, 1, torch.device("cpu"))
        >>> schedule = dist.pipelining.ScheduleGPipe(stage, n_microbatches=2)
        >>> isinstance(schedule, dist.pipelining.schedules.PipelineScheduleSingle)
        True
    """

    def __init__(self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable | None = None,
                 args_chunk_spec: tuple | None = None, kwargs_chunk_spec: dict | None = None,
                 output_merge_spec: Any = None, scale_grads: bool = True) -> None:
        self._stage = stage
        super().__init__([stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec,
                         scale_grads)

    def _computations(self, rank: int) -> tuple[Iterable, Iterable, int]:
        microbatches = [(rank, number) for number in range(self._n_microbatches)]
        return microbatches, microbatches, self._first_forwards(rank)

    def _first_forwards(self, rank):
        return self._n_microbatches


class ScheduleGPipe(PipelineScheduleSingle):
    """All forwards, then all backwards.

    Example:
        >>> stage = dist.pipelining.PipelineStage(torch.nn.Linear(2, 2), 0, 1, torch.device("cpu"))
        >>> schedule = dist.pipelining.ScheduleGPipe(stage, n_microbatches=2)
        >>> schedule.step(torch.ones(4, 2)).shape       # only the first rank gives the input
        torch.Size([4, 2])
    """


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Forwards alone, without a loss."""

    def _step_microbatches(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None,
                           target_mbs: list | None = None, losses: list | None = None, return_outputs: bool = True,
                           loss_kwargs: dict[str, Any] | None = None) -> None:
        if target_mbs is not None or losses is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        super()._step_microbatches(arg_mbs, kwarg_mbs)


class Schedule1F1B(PipelineScheduleSingle):
    """As soon as a rank has a gradient it takes one backward and one forward in turn, so few activations are kept.

    Arguments:
        *args: as of ScheduleGPipe
        **options: as of ScheduleGPipe

    Example:
        >>> stage = dist.pipelining.PipelineStage(torch.nn.Linear(2, 2), 0, 1, torch.device("cpu"))
        >>> schedule = dist.pipelining.Schedule1F1B(stage, n_microbatches=2, loss_fn=torch.nn.functional.mse_loss)
        >>> losses = []
        >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2), losses=losses).shape
        torch.Size([4, 2])
        >>> len(losses)
        2
    """

    def __init__(self, stage: PipelineStage, n_microbatches: int, *args: Any, **options: Any) -> None:
        if n_microbatches < stage.num_stages:
            raise ValueError(f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number "
                             f"of stages ({stage.num_stages}).")
        super().__init__(stage, n_microbatches, *args, **options)

    def _first_forwards(self, rank):
        return self._num_stages - 1 - rank


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules with several stages on each rank: rank r of n has the stages r, r + n, r + 2n ...

    Arguments:
        use_full_backward: deprecated, not read

    Example:
        >>> schedules = dist.pipelining.schedules
        >>> issubclass(schedules.get_schedule_class("Interleaved1F1B"), schedules.PipelineScheduleMulti)
        True
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable | None = None,
                 args_chunk_spec: tuple | None = None, kwargs_chunk_spec: dict | None = None,
                 output_merge_spec: Any = None, use_full_backward: bool | None = None, scale_grads: bool = True,
                 backward_requires_autograd: bool = True) -> None:
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec,
                         scale_grads)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All microbatches for the first stage of a rank, then for the next, then backwards the other way round.

    Example:
        >>> cpu = torch.device("cpu")
        >>> stages = [dist.pipelining.PipelineStage(torch.nn.Linear(2, 2), i, 2, cpu) for i in range(2)]
        >>> schedule = dist.pipelining.ScheduleLoopedBFS(stages, 2, loss_fn=torch.nn.functional.mse_loss)
        >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
        torch.Size([4, 2])
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable | None = None,
                 output_merge_spec: Any = None, scale_grads: bool = True, backward_requires_autograd: bool = True,
                 defer_pp_recv: bool = False) -> None:
        super().__init__(stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads)

    def _computations(self, rank: int) -> tuple[Iterable, Iterable, int]:
        forwards = [(stage, number) for stage in range(rank, self._num_stages, self.pp_group_size)
                    for number in range(self._n_microbatches)]
        return forwards, forwards[::-1], len(forwards)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """1F1B over several stages on each rank, a round of microbatches for one stage after the other.

    See "Efficient Large-Scale Language Model Training on GPU Clusters", arxiv.org/abs/2104.04473.

    Example:
        >>> cpu = torch.device("cpu")
        >>> stages = [dist.pipelining.PipelineStage(torch.nn.Linear(2, 2), i, 2, cpu) for i in range(2)]
        >>> schedule = dist.pipelining.ScheduleInterleaved1F1B(stages, 2, loss_fn=torch.nn.functional.mse_loss)
        >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
        torch.Size([4, 2])
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, loss_fn: Callable | None = None,
                 args_chunk_spec: tuple | None = None, kwargs_chunk_spec: dict | None = None,
                 output_merge_spec: Any = None, scale_grads: bool = True, backward_requires_autograd: bool = True,
                 defer_pp_recv: bool = False) -> None:
        self.number_of_rounds = max(1, n_microbatches // stages[0].group_size)
        self.microbatches_per_round = n_microbatches // self.number_of_rounds
        if n_microbatches % self.number_of_rounds:
            raise ValueError("Interleaved 1F1B requires the number of microbatches to be a multiple of the number of "
                             f"rounds ({self.number_of_rounds}), but got {n_microbatches}.")
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec,
                         scale_grads=scale_grads)

    def _computations(self, rank: int) -> tuple[Iterable, Iterable, int]:
        stages = range(rank, self._num_stages, self.pp_group_size)
        rounds = [range(start, start + self.microbatches_per_round)
                  for start in range(0, self._n_microbatches, self.microbatches_per_round)]
        forwards = [(stage, number) for each in rounds for stage in stages for number in each]
        backwards = [(stage, number) for each in rounds for stage in reversed(stages) for number in each]
        first = (len(stages) - 1) * self.microbatches_per_round + 2 * (self.pp_group_size - 1 - rank)
        return forwards, backwards, min(first, len(forwards))


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """The class of a schedule: "GPipe", "1f1b", "Interleaved1F1B", "LoopedBFS".

    Arguments:
        schedule_name: the name of the class; upper and lower case are the same

    Example:
        >>> dist.pipelining.schedules.get_schedule_class("1f1b").__name__
        'Schedule1F1B'
    """
    classes = {"1F1B": Schedule1F1B, "Interleaved1F1B": ScheduleInterleaved1F1B, "GPipe": ScheduleGPipe,
               "LoopedBFS": ScheduleLoopedBFS, "PipelineScheduleSingle": PipelineScheduleSingle,
               "PipelineScheduleMulti": PipelineScheduleMulti}
    found = [kind for name, kind in classes.items() if name.lower() == schedule_name.lower()]
    if not found:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(classes)}")
    return found[0]


_complete_docstrings(globals(), "distributed.pipelining")
__getattr__ = module_getattr(__name__)
