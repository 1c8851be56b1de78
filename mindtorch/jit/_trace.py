"""torch.jit.trace: the operators that a call ran, as a torch.fx graph below a module."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mindtorch import Tensor
from mindtorch.fx.experimental.proxy_tensor import _Recorder
from mindtorch.fx.graph_module import GraphModule
from mindtorch.nn import Module
from mindtorch.utils import _pytree


class TracerWarning(Warning):
    """What tracing says of code that it cannot follow: for filters of warnings."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Filters out those that come from within the library."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"(mind)?torch\.(?!jit)")


class TracingCheckError(Exception):
    """A traced function does not compute what the function itself does."""


class TracedModule(Module):
    """What torch.jit.trace gives: it calls a graph with the tensors of its arguments and of its state_dict."""

    def __init__(self, function: Callable, traced: GraphModule, names: list[str], given: Any, made: Any) -> None:
        super().__init__()
        if isinstance(function, Module):            # with its parameters, submodules and mode
            for name in ("training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
                setattr(self, name, getattr(function, name))
        self.original_name = type(function).__name__ if isinstance(function, Module) else function.__name__
        self.__dict__.update(traced=traced, _names=names, _given=given, _made=made)

    @property
    def graph(self) -> Any:
        """The operators, as a torch.fx.Graph whose first inputs are the parameters and buffers."""
        return self.traced.graph

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self.traced.code

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        leaves, given = _pytree.tree_flatten((args, kwargs))
        if given != self._given:
            raise RuntimeError(f"{self.original_name} was traced with arguments of another form: {self._given}, not "
                               f"{given}")
        state = _state(self)
        return _pytree.tree_unflatten(self.traced(*[state[name] for name in self._names], *leaves), self._made)


def _state(module):
    """The parameters and buffers by their names."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())} if isinstance(module, Module) else {}


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True,
          check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False,
          _module_class: Any = None, _compilation_unit: Any = None, example_kwarg_inputs: Any = None,
          _store_inputs: bool = True) -> TracedModule:
    """A module of the operators that `func`, a function or Module, runs for example_inputs, a tensor or a tuple.

    It has the parameters of `func`, takes tensors of other sizes where the operators do, and is differentiable. Numbers
    and branches stay as they were for the example. It cannot be saved: save the state_dict. The result is not checked
    against that of `func`.

    Arguments:
        func: a function or module
        example_inputs: a tensor, or the arguments as a tuple
        optimize: not read
        check_trace: not read: the result is not run again to compare
        check_inputs: not read
        check_tolerance: not read
        strict: whether containers in the results are refused
        example_kwarg_inputs: the arguments by name, in place of example_inputs

    Example:
        >>> traced = torch.jit.trace(lambda x: x.sin() + 1, torch.zeros(2))
        >>> traced(torch.ones(1))
        tensor([1.8415])
    """
    if isinstance(func, TracedModule):
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    args = () if example_inputs is None else example_inputs if isinstance(example_inputs, (tuple, list)) else (
        example_inputs,)
    kwargs = example_kwarg_inputs or {}
    state = _state(func)
    leaves, given = _pytree.tree_flatten((tuple(args), kwargs))
    recorder = _Recorder({})
    for name, value in [*(("self_" + name.replace(".", "_"), tensor) for name, tensor in state.items()),
                        *((f"input_{place}", leaf) for place, leaf in enumerate(leaves))]:
        recorder.add_input(name, value)
    with recorder:
        results, made = _pytree.tree_flatten(func(*args, **kwargs))
    if not any(isinstance(each, Tensor) for each in results):
        raise RuntimeError("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
                           "functions")
    return TracedModule(func, recorder.module(results), list(state), given, made)


def trace_module(mod: Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> TracedModule:
    """The trace of a module's forward: `inputs` is {"forward": example inputs}.

    Arguments:
        mod: the module
        inputs: the arguments of each method, by its name
        *args: as of trace
        **kwargs: as of trace

    Example:
        >>> traced = torch.jit.trace_module(torch.nn.ReLU(), {"forward": torch.ones(2)})
        >>> traced(torch.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    if set(inputs) != {"forward"}:
        raise NotImplementedError("torch.jit.trace_module: mindtorch traces the method forward only")
    return trace(mod, inputs["forward"], *args, **kwargs)
