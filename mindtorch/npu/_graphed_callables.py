"""make_graphed_callables: functions and modules with graphs for forward and backward."""
from __future__ import annotations

from typing import Any

import mindtorch
from mindtorch import npu
from mindtorch._tensor import Tensor
from mindtorch.autograd import Function
from mindtorch.autograd.function import once_differentiable
from mindtorch.utils._pytree import tree_flatten, tree_unflatten


def make_graphed_callables(callables: Any, sample_args: tuple[Tensor, ...] | tuple[tuple[Tensor, ...], ...],
                           num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None) -> Any:
    """Functions that replay graphs of `callables` (a function, a module or a tuple of these), backward included.

    sample_args: the tensors that each is captured with; later ones must be like them in shape, dtype and requires_grad.
    A tuple is captured in its order, in one pool of memory, and must be called in that order. A module is returned as
    it is, with another forward. allow_unused_input: whether inputs may have no gradient. pool: memory to share.

    Arguments:
        callables: a function or module, or a tuple of them
        sample_args: the tensors of a call, as a tuple; a tuple of such tuples for several callables
        num_warmup_iters: how often each is run before it is captured
        allow_unused_input: whether an input may get no gradient
        pool: the memory pool: a MemPool, or what graph_pool_handle returns; None means one of its own

    Example:
        >>> layer = torch.nn.Linear(2, 2, device="npu")
        >>> graphed = torch.npu.make_graphed_callables(layer, (torch.ones(4, 2, device="npu"),))
        >>> graphed(torch.ones(4, 2, device="npu")).shape
        torch.Size([4, 2])
        >>> del graphed, layer          # and with them the graphs
    """
    if mindtorch.is_autocast_enabled("npu") and mindtorch.is_autocast_cache_enabled():
        raise RuntimeError("make_graphed_callables does not support the autocast caching. Please set "
                           "`cache_enabled=False`.")
    if not isinstance(callables, tuple):
        return make_graphed_callables((callables,), (sample_args,), num_warmup_iters, allow_unused_input, pool)[0]
    graphed = [_GraphedCallable(*each, allow_unused_input) for each in zip(callables, sample_args, strict=True)]
    _warm_up(graphed, num_warmup_iters)
    pool = npu.graph_pool_handle() if pool is None else pool
    for one in graphed:
        one.capture_forward(pool)
    for one in reversed(graphed):
        one.capture_backward(pool)
    return tuple(one.wrapper() for one in graphed)


def _warm_up(graphed, iterations):
    """Runs all callables on a side stream, so that one-time initialization happens before the capture."""
    npu.synchronize()
    with npu.stream(npu.Stream()):
        for one in graphed:
            for _ in range(iterations):
                outputs = tree_flatten(one.call(*one.arguments))[0]
                one.gradients(outputs, [mindtorch.empty_like(output) for output in outputs if output.requires_grad])
    npu.synchronize()


def _check_module(module):
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise AssertionError("Modules must not have hooks registered at the time they are passed. However, registering "
                             "hooks on modules after passing them through make_graphed_callables is allowed.")
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise AssertionError("In any Module passed to make_graphed_callables, only parameters may be trainable. All "
                             "buffers must have ``requires_grad=False``.")


class _GraphedCallable:
    """One callable: its tensors, which the graphs read and write, and its two graphs."""

    def __init__(self, call: Any, arguments: Any, allow_unused: Any) -> None:
        self.call = call
        self.arguments = arguments
        self.allow_unused = allow_unused
        self.given = tree_flatten(arguments)[0]
        if not all(isinstance(argument, Tensor) for argument in self.given):
            raise TypeError("In the beta API, sample_args for each callable must contain only Tensors. Other types are "
                            "not allowed.")
        self.module = call if isinstance(call, mindtorch.nn.Module) else None
        if self.module is not None:
            _check_module(self.module)
        self.inputs = [*self.given, *(self.module.parameters() if self.module is not None else ())]
        self.forward_graph, self.backward_graph = npu.NPUGraph(), npu.NPUGraph()
        self.outputs = self.structure = None
        self.grad_outputs, self.grad_inputs = [], [None] * len(self.inputs)      # None where there is no gradient

    def gradients(self, outputs: Any, grad_outputs: Any) -> Any:
        """Gradients of those inputs that require one."""
        wanted = [tensor for tensor in self.inputs if tensor.requires_grad]
        given = [output for output in outputs if output.requires_grad]
        if not given or not wanted:
            return [None] * len(wanted)
        return mindtorch.autograd.grad(given, wanted, grad_outputs, allow_unused=self.allow_unused)

    def capture_forward(self, pool: Any) -> None:
        with npu.graph(self.forward_graph, pool=pool):
            outputs = self.call(*self.arguments)
        self.outputs, self.structure = tree_flatten(outputs)

    def capture_backward(self, pool: Any) -> None:
        self.grad_outputs = [mindtorch.empty_like(output) if output.requires_grad else None for output in self.outputs]
        with npu.graph(self.backward_graph, pool=pool):
            found = iter(self.gradients(self.outputs, [grad for grad in self.grad_outputs if grad is not None]))
        self.grad_inputs = [next(found) if tensor.requires_grad else None for tensor in self.inputs]

    def replay_forward(self, inputs: Any) -> Any:
        for static, given in zip(self.given, inputs, strict=False):
            if static.data_ptr() != given.data_ptr():
                static.copy_(given)
        self.forward_graph.replay()
        return tuple(output.detach() for output in self.outputs)

    def replay_backward(self, grads: Any) -> Any:
        for static, given in zip(self.grad_outputs, grads, strict=True):
            if static is not None and static.data_ptr() != given.data_ptr():
                static.copy_(given)
        self.backward_graph.replay()
        return tuple(None if grad is None else grad.detach() for grad in self.grad_inputs)

    def wrapper(self) -> Any:
        """The function or module that replays the graphs."""
        parameters = self.inputs[len(self.given):]

        class Graphed(Function):
            @staticmethod
            def forward(context, *inputs):
                return self.replay_forward(inputs)

            @staticmethod
            @once_differentiable
            def backward(context, *grads):
                return self.replay_backward(grads)

        def graphed(*arguments):
            outputs = Graphed.apply(*tree_flatten(arguments)[0], *parameters)
            return tree_unflatten(list(outputs), self.structure)

        if self.module is None:
            return graphed
        return _with_forward(self.module, graphed)


def _with_forward(module, graphed):
    """The module with `graphed` as its forward, in the mode (training or not) that it was captured in."""
    training, plain = module.training, module.forward

    def forward(*arguments):
        return graphed(*arguments) if module.training == training else plain(*arguments)

    module.forward = forward
    return module
