"""torch.autograd: gradients of what was computed. The engine is mindtorch/_core/autograd/engine.pyx."""
from __future__ import annotations

import warnings
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any, overload

from mindtorch._core.autograd import engine as _engine
from mindtorch._core.autograd.node import SavedTensor  # noqa: F401 - torch has it here too
from mindtorch._core.tensor.tensor import TensorBase as _TensorBase
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch.autograd import forward_ad, functional, graph
from mindtorch.autograd import function as function
from mindtorch.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from mindtorch.autograd.function import Function
from mindtorch.autograd.grad_mode import (
    _force_original_view_tracking,  # noqa: F401 - torch code looks here
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from mindtorch.autograd.gradcheck import gradcheck, gradgradcheck
from mindtorch.autograd.variable import Variable

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Function", "Variable", "backward", "detect_anomaly", "enable_grad", "functional", "grad", "gradcheck",
           "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled", "is_view_replay_enabled",
           "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]

_LAZY = ("profiler", "profiler_util")
_refused = _module_getattr(__name__)


if not TYPE_CHECKING:        # a type checker would take any name for one of this module
    def __getattr__(name):
        if name in _LAZY:
            return _import_module(f"mindtorch.autograd.{name}")
        if name == "kineto_available":
            return _import_module("mindtorch.profiler").kineto_available
        return _refused(name)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves they came from, or of `inputs` alone.

    grad_tensors: the gradients of `tensors`, needed for those with more than one element. RuntimeError where a tensor
    has no history, or where the graph was freed by an earlier backward without retain_graph.

    Arguments:
        tensors: the tensors to start from; one, or a sequence
        grad_tensors: the gradient of each; None for a tensor of one element means 1
        retain_graph: whether the graph stays for another backward; None means as create_graph
        create_graph: whether the result can be differentiated again
        grad_variables: deprecated, see grad_tensors
        inputs: the tensors whose `grad` is added to; None means all leaves

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.backward([x * x], [torch.ones(2)])
        >>> x.grad
        tensor([2., 4.])
    """
    if inputs is not None and not isinstance(inputs, _TensorBase) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                               "`backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    tensors = _tuple(tensors)
    grads = _engine.root_grads(tensors, None if grad_tensors is None else _tuple(grad_tensors))
    inputs = None if inputs is None else _checked_inputs(_tuple(inputs))
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.", UserWarning, stacklevel=2)
    keep = create_graph if retain_graph is None else retain_graph
    _engine.run_backward(list(tensors), grads, keep, create_graph, inputs, True)


@overload
def grad(outputs: Any, inputs: dict[str, Tensor], grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> dict[str, Tensor]: ...
@overload
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]: ...
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...] | dict[str, Tensor]:
    """The gradients of `outputs` with respect to `inputs`, as a tuple.

    allow_unused: give None for inputs that took no part; materialize_grads: give zeros for them. Else RuntimeError.
    is_grads_batched: the first dimension of each of `grad_outputs` counts gradients, which go back one after the other.

    Arguments:
        outputs: the tensors to start from; one, or a sequence
        inputs: the tensors whose gradients are wanted; one, or a sequence
        grad_outputs: the gradient of each output; None for one of one element means 1
        retain_graph: whether the graph stays for another backward; None means as create_graph
        create_graph: whether the result can be differentiated again
        only_inputs: deprecated, not read
        allow_unused: whether an input that the outputs do not depend on gets None; None means as materialize_grads
        is_grads_batched: whether the first dimension of grad_outputs is a batch
        materialize_grads: whether such an input gets zeros in place of None

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.grad((x ** 3).sum(), x)
        (tensor([ 3., 12.]),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
                      "gradient for other parts of the graph, please use torch.autograd.backward.", FutureWarning,
                      stacklevel=2)
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if forward_ad._current_level >= 0 and forward_ad.has_dual(outputs):
        return forward_ad.grad_of_duals(lambda: grad(outputs, inputs, grad_outputs, True, True, True, allow_unused,
                                                     is_grads_batched, materialize_grads), create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    given = None if grad_outputs is None else _tuple(grad_outputs)

    def run(grads, keep):
        return _engine.run_backward(list(outputs), _engine.root_grads(outputs, grads), keep, create_graph,
                                    _checked_inputs(inputs), False)
    found = _batch(run, outputs, given, keep) if is_grads_batched else run(given, keep)
    if materialize_grads:
        return _materialized(found, inputs, given[0].shape[:1] if is_grads_batched else (), create_graph)
    if not allow_unused:
        for index, value in enumerate(found):
            if value is None:
                raise RuntimeError(f"The differentiated Tensor at index {index} appears to not have been used in the "
                                   "graph. Set allow_unused=True if this is the desired behavior.")
    return tuple(found)


def _batch(run, outputs, grads, keep):
    """The stacked results of run(grads, keep) for each gradient of a batch."""
    from mindtorch.func import vmap
    if grads is None or any(grad is None for grad in grads):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    for index, (grad, output) in enumerate(zip(grads, outputs, strict=True)):
        if tuple(grad.shape[1:]) != tuple(output.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{index}] has a shape of {grad.shape} and "
                f"output[{index}] has a shape of {output.shape}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap.")
    left, unused = len(grads[0]) if grads[0].dim() else 0, []

    def one(*row):
        nonlocal left, unused
        left -= 1
        found = run(row, keep or left > 0)
        unused = [value is None for value in found]
        return [value for value in found if value is not None]
    used = iter(vmap(one, randomness="different")(*grads))
    return [None if without else next(used) for without in unused]


def _materialized(found, inputs, batch, create_graph):
    """The gradients, zeros where there is none."""
    from mindtorch import zeros_like
    made = list(found)
    for index, (value, given) in enumerate(zip(found, inputs, strict=True)):
        if value is None and isinstance(given, graph.GradientEdge):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        if value is None:
            made[index] = zeros_like(given, requires_grad=create_graph).expand((*batch, *given.shape))
    return tuple(made)


def _tuple(value):
    return (value,) if isinstance(value, (_TensorBase, graph.GradientEdge)) else tuple(value)


def _checked_inputs(inputs):
    for tensor in inputs:
        if isinstance(tensor, graph.GradientEdge):
            continue
        if not isinstance(tensor, _TensorBase):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")
        if not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    return list(inputs)
