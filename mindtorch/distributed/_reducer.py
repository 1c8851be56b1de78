"""What DistributedDataParallel does in a backward: gradients go to buckets, which are reduced while it goes on."""
from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

import mindtorch
from mindtorch import Tensor
from mindtorch._core.autograd.engine import queue_callback
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._module_states import _broadcast
from mindtorch.distributed._options import ReduceOp
from mindtorch.distributed._work import NO_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mindtorch.distributed._process_group import ProcessGroup
    from mindtorch.nn.parallel._mixed_precision import LowerParameters
    from mindtorch.nn.parameter import Parameter

__all__ = ["FIRST_BUCKET_BYTES", "GradBucket", "Reducer"]

FIRST_BUCKET_BYTES = 1 << 20        # small: the first gradients are soon under way


class GradBucket:
    """Gradients that are reduced together: `buffer` holds them one after the other.

    Arguments:
        index: the number of the bucket
        numbers: the gradients, flat, as one tensor
        parameters: the parameters whose gradients these are
        is_last: whether no bucket follows

    Example:
        >>> def in_half(state, bucket):             # a hook of DistributedDataParallel
        ...     work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()).half(), async_op=True).get_future()
        ...     return work.then(lambda done: bucket.buffer().copy_(done.value()[0]))
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, in_half)
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> model.module.weight.grad
        tensor([[1., 1.]])
    """

    def __init__(self, index: int, numbers: list[int], parameters: list[Parameter], is_last: bool) -> None:
        self.numbers, self._index, self._parameters, self._is_last = numbers, index, parameters, is_last
        first = parameters[0]
        self._buffer = mindtorch.zeros(sum(each.numel() for each in parameters), dtype=first.dtype, device=first.device)
        self.views = _parameter_views(self._buffer, parameters)
        self.waits_for, self.work = set(numbers), None

    def index(self) -> int:
        """Its place in the order in which buckets are reduced."""
        return self._index

    def buffer(self) -> Tensor:
        """All gradients, in one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Let `buffer` hold the gradients."""
        self._buffer.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the buffer."""
        return list(self.views)

    def parameters(self) -> list[Parameter]:
        """The parameters of the gradients in this bucket."""
        return self._parameters

    def is_last(self) -> bool:
        """Whether it is the last bucket of a backward."""
        return self._is_last


class _SparseBucket:
    """The sparse gradient of one parameter, which ranks gather. Hooks do not see it."""

    def __init__(self, number: int) -> None:
        self.numbers, self.views = [number], [None]
        self.waits_for, self.work = {number}, None


def _parameter_views(buffer, parameters):
    """Views of `buffer`, which follow one another, in the shapes of the parameters."""
    parts = buffer.split([each.numel() for each in parameters])
    return [part.view(each.shape) for part, each in zip(parts, parameters, strict=True)]


def _groups(parameters, order, limits):
    """Lists of parameters' numbers, each of one dtype and device, and of about as many bytes as its limit: the last one
    is that of all further lists."""
    open_groups, closed = {}, []
    for number in order:
        parameter = parameters[number]
        kind = parameter.dtype, parameter.device
        numbers, size = open_groups.get(kind, ([], 0))
        numbers, size = [*numbers, number], size + parameter.numel() * parameter.element_size()
        if size >= limits[min(len(closed), len(limits) - 1)]:
            closed.append(numbers)
            open_groups.pop(kind, None)
        else:
            open_groups[kind] = numbers, size
    return closed + [numbers for numbers, _ in open_groups.values()]


class Reducer:
    """The buckets of a module's parameters, and what its current backward has done with them."""

    def __init__(self, named_parameters: list[tuple[str, Parameter]], group: ProcessGroup, limits: list[int],
                 find_unused: bool, as_view: bool, static_graph: bool, sparse: Collection[str] = (),
                 lower: LowerParameters | None = None, skip_unused: bool = False, delayed: Collection[str] = (),
                 delayed_until: str | None = None) -> None:
        self._names = [name for name, _ in named_parameters]
        self._parameters = [parameter for _, parameter in named_parameters]
        self._group, self._limits = group, limits
        self._find_unused, self._as_view, self._static_graph = find_unused, as_view, static_graph
        self._hook, self._state, self.divisor = None, None, group.size()
        self._skip_unused = skip_unused     # the same parameters are unused on all ranks: nobody asks the others
        self._lower = lower     # mixed precision: buckets have the dtypes that parameters have between steps
        self._sparse = {number for number, name in enumerate(self._names) if name in sparse}
        self._delayed = {number for number, name in enumerate(self._names) if name in delayed} - self._sparse
        self._delayed_until = None if delayed_until is None else self._names.index(delayed_until)
        # In which gradients became ready first; None once it is used, and where that differs from step to step.
        self._order: list[int] | None = None if find_unused and not static_graph else []
        self._expected: Counter | None = None       # of a static graph: how often each gradient is accumulated
        self._make_buckets(range(len(self._parameters) - 1, -1, -1))
        self._reset(())
        on_gradient = WeakMethod(self._on_gradient)
        self.hooks = [parameter.register_post_accumulate_grad_hook(partial(_call, on_gradient, number))
                      for number, parameter in enumerate(self._parameters)]
        self.active = True                          # False in no_sync, and after a backward

    def _make_buckets(self, order):
        order = list(order)
        groups = _groups(self._parameters, [each for each in order if each not in self._sparse | self._delayed],
                         self._limits)
        self.buckets = [GradBucket(index, numbers, [self._parameters[number] for number in numbers],
                                   index == len(groups) - 1) for index, numbers in enumerate(groups)]
        self._delayed_buckets = [
            GradBucket(len(groups), numbers, [self._parameters[number] for number in numbers], True)
            for numbers in _groups(self._parameters, sorted(self._delayed), [math.inf])]    # one for each dtype
        self.buckets += self._delayed_buckets
        self.buckets += [_SparseBucket(number) for number in order if number in self._sparse]
        self._places = {number: (bucket, bucket.views[place]) for bucket in self.buckets
                        for place, number in enumerate(bucket.numbers)}

    def _reset(self, unused):
        self._unused, self._seen, self._next, self._began = set(unused), Counter(), 0, False
        for bucket in self.buckets:
            bucket.waits_for, bucket.work = set(bucket.numbers), None
        for bucket in self._delayed_buckets:
            bucket.waits_for.add(self._delayed_until)

    def register_hook(self, state: Any, hook: Callable) -> None:
        """Have `hook(state, bucket)`, which returns a Future of the buffer, reduce the buckets."""
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook, self._state = hook, state

    # Before a backward

    def rebuild(self) -> None:
        """After the first backward: the buckets follow the order in which gradients became ready on rank 0."""
        if not self._order or len(self._order) != len(self._parameters):
            return
        order = mindtorch.tensor(self._order, device=self._parameters[0].device)
        _broadcast(self._group, order, 0).wait(NO_TIMEOUT)
        self._order = None
        self._make_buckets(order.tolist())
        if self._as_view:
            for number, parameter in enumerate(self._parameters):
                if parameter.grad is not None:
                    self._fill_bucket(number)

    def prepare(self, outputs: list[Tensor]) -> None:
        """Prepare for a backward from `outputs`."""
        if self._began:
            missing = sorted(number for bucket in self.buckets for number in bucket.waits_for)
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. This error "
                "indicates that your module has parameters that were not used in producing loss. You can enable "
                "unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
                "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs "
                "participate in calculating loss. Parameters which did not receive grad for rank "
                f"{self._group.rank()}: {', '.join(self._names[number] for number in missing)}")
        if self._order is not None:
            self.rebuild()
        unused = ()
        if self._find_unused and not self._static_graph:
            reached = _parameters_behind(outputs)
            unused = [number for number, parameter in enumerate(self._parameters) if id(parameter) not in reached]
        elif self._expected is not None:
            unused = [number for number in range(len(self._parameters)) if number not in self._expected]
        self._reset(unused)

    # In a backward

    def _on_gradient(self, number):
        if not self.active:
            if self._lower is not None:
                self._lower.restore_after_backward()
            return
        if not self._began:
            self._began = True
            if self._static_graph and self._expected is None:
                queue_callback(self._end_first_static)
            for unused in sorted(self._unused):
                self._ready(unused)
        self._seen[number] += 1
        if self._static_graph:
            if self._expected is None or self._seen[number] < self._expected[number]:
                return
        elif number not in self._places[number][0].waits_for:
            raise RuntimeError(
                "Expected to mark a variable ready only once. Either a parameter is used in several reentrant backward "
                "passes, such as those of checkpoints of the same part, or outside of the `forward` function: "
                f"`static_graph=True` allows that. Parameter: {self._names[number]}")
        self._ready(number)

    def _end_first_static(self):
        """After the first backward of a static graph, which has counted how often each gradient is accumulated."""
        self._expected = self._seen
        self._unused = {number for number in range(len(self._parameters)) if number not in self._seen}
        for bucket in self.buckets:
            for number in bucket.numbers:
                self._ready(number)

    def _ready(self, number):
        if self._order is not None and len(self._order) < len(self._parameters):
            self._order.append(number)
        self._fill_bucket(number)
        self._places[number][0].waits_for.discard(number)
        if number == self._delayed_until:
            for bucket in self._delayed_buckets:
                bucket.waits_for.discard(number)
        while self._next < len(self.buckets) and not self.buckets[self._next].waits_for:
            self._launch(self.buckets[self._next])
            self._next += 1
            if self._next == len(self.buckets):
                if self._static_graph and self._expected is self._seen:
                    self._wait_for_buckets()      # at the end of the first backward already
                else:
                    queue_callback(self._wait_for_buckets)

    @mindtorch.no_grad()
    def _fill_bucket(self, number):
        """Put a gradient into its bucket."""
        if number in self._sparse:
            return
        parameter, view = self._parameters[number], self._places[number][1]
        gradient = parameter.grad
        if gradient is None:
            view.zero_()
        elif gradient.is_sparse:
            raise RuntimeError("DistributedDataParallel takes sparse gradients of Embedding and EmbeddingBag alone: "
                               f"{self._names[number]} has one")
        elif gradient.data_ptr() != view.data_ptr():
            view.copy_(gradient)
            if self._as_view and self._lower is None:
                parameter.grad = view

    @mindtorch.no_grad()
    def _launch(self, bucket):
        if isinstance(bucket, _SparseBucket):
            return      # gathered at the end of the backward: its length differs between ranks
        if self._skip_unused and self._unused.issuperset(bucket.numbers):
            return
        if self._hook is None or bucket in self._delayed_buckets:
            bucket.buffer().div_(self.divisor)
            bucket.work = collectives.all_reduce(bucket.buffer(), group=self._group, async_op=True)
        else:
            bucket.work = self._hook(self._state, bucket)

    @mindtorch.no_grad()
    def _wait_for_buckets(self):
        """Called at the end of a backward: wait for the buckets, and give the parameters their gradients."""
        if self._lower is not None:
            self._lower.restore()
        used = self._used_anywhere() if self._find_unused or self._unused else None
        for bucket in self.buckets:
            if isinstance(bucket, _SparseBucket):
                number, = bucket.numbers
                if used is None or used[number]:
                    self._parameters[number].grad = self._gather_sparse(self._parameters[number])
                continue
            if bucket.work is None:     # nobody has used its parameters
                continue
            if self._hook is None or bucket in self._delayed_buckets:
                bucket.work.wait(NO_TIMEOUT)    # which a Work that is written in Python need not have as a default
            else:
                result = bucket.work.wait()
                result = result[0] if isinstance(result, (list, tuple)) else result
                if result.data_ptr() != bucket.buffer().data_ptr():
                    bucket.set_buffer(result)
            for number, view in zip(bucket.numbers, bucket.views, strict=True):
                parameter = self._parameters[number]
                if used is not None and not used[number]:
                    continue
                if self._as_view:
                    parameter.grad = view
                elif parameter.grad is None:
                    parameter.grad = view.clone()
                else:
                    parameter.grad.copy_(view)
        self._began = self.active = False       # what comes until the next forward is the caller's own

    def _gather_sparse(self, parameter):
        """The mean of the ranks' sparse gradients: their indices and values behind each other."""
        gradient = parameter.grad
        if gradient is None:
            gradient = mindtorch.sparse_coo_tensor(mindtorch.zeros(1, 0, dtype=mindtorch.int64),
                                                   parameter.new_zeros(0, *parameter.shape[1:]), parameter.shape)
        gradient = gradient.coalesce()
        values, rows = gradient.values() / self.divisor, gradient.indices()[0]
        counts = mindtorch.empty(self._group.size(), dtype=mindtorch.int64, device=values.device)
        collectives.all_gather_single(counts, counts.new_full((1,), len(rows)), self._group)
        counts = counts.tolist()

        def gathered(part):
            whole = part.new_zeros(len(counts), max(*counts, 1), *part.shape[1:])
            padded = whole[0].clone()
            padded[:len(part)] = part
            collectives.all_gather_single(whole, padded.unsqueeze(0), self._group)
            return mindtorch.cat([each[:count] for each, count in zip(whole, counts, strict=True)])

        return mindtorch.sparse_coo_tensor(gathered(rows).unsqueeze(0), gathered(values), parameter.shape).coalesce()

    def _used_anywhere(self):
        """For each parameter, whether a rank has used it: others keep the gradient that they have."""
        used = [number not in self._unused for number in range(len(self._parameters))]
        if self._skip_unused:
            return used
        used = mindtorch.tensor(used, dtype=mindtorch.int32, device=self._parameters[0].device)
        collectives.all_reduce(used, ReduceOp.MAX, group=self._group)
        return used.tolist()

    # For a rank that has no more inputs

    @mindtorch.no_grad()
    def join_backward(self) -> None:
        """Take part in the backward of the other ranks, with gradients of zero."""
        self._reset(range(len(self._parameters)))
        if self._order == []:       # this rank has had no backward
            self._order = [number for bucket in self.buckets for number in bucket.numbers]
        dense = [bucket for bucket in self.buckets if not isinstance(bucket, _SparseBucket)]
        for bucket in dense:
            bucket.buffer().zero_()
            self._launch(bucket)
        if self._find_unused:
            self._used_anywhere()
        for bucket in dense:
            bucket.work.wait()
        for bucket in self.buckets[len(dense):]:
            parameter = self._parameters[bucket.numbers[0]]
            parameter.grad = None
            self._gather_sparse(parameter)


def _call(method, number, _):
    method = method()
    if method is not None:      # the module may be gone
        method(number)


def _parameters_behind(outputs):
    """The ids of the leaves on which `outputs` depend."""
    stack = [output.grad_fn for output in outputs if output.grad_fn is not None]
    seen, leaves = set(), {id(output) for output in outputs}
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        stack.extend(following for following, _ in node.next_functions if following is not None)
    return leaves
