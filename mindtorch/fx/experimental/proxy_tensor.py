"""torch.fx.experimental.proxy_tensor: a graph of the operators that a function calls, below Python and autograd."""
from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import mindtorch
from mindtorch import Tensor
from mindtorch._submodules import module_getattr
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import map_aggregate
from mindtorch.nn import Module, Parameter
from mindtorch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from mindtorch.utils._pytree import tree_leaves

__all__ = ["get_proxy_mode", "make_fx"]


def make_fx(f: Callable, decomposition_table: dict | None = None, tracing_mode: str = "real",
            _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False, record_module_stack: bool = False,
            _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True,
            record_stack_traces: bool = False) -> Callable:
    """A function that runs `f` on its arguments and gives a GraphModule of the operators (torch.ops.aten...) it called.

    Derivatives that `f` takes are in the graph, as operators. decomposition_table: functions to run in the place of
    operators. Tensors that are no arguments become attributes of the module; what depends on elements, and sizes, is
    as it was for these arguments. Tensors in lists, tuples and dicts, which arguments may be, are nodes that take them
    out there. NotImplementedError for tracing_mode="symbolic" and for pre_dispatch.

    Arguments:
        f: the function
        decomposition_table: operator -> function that takes its place; None means none
        tracing_mode: "real" or "fake"
        pre_dispatch: whether what autograd and autocast do is recorded too
        record_module_stack: not read
        record_stack_traces: not read

    Example:
        >>> from mindtorch.fx.experimental.proxy_tensor import make_fx
        >>> module = make_fx(lambda x: torch.nn.functional.softplus(x).sum())(torch.ones(2))
        >>> [str(node.target) for node in module.graph.nodes if node.op == "call_function"]
        ['aten.softplus.default', 'aten.sum.default']
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f'tracing_mode must be "real", "fake", or "symbolic", got {tracing_mode}')
    if tracing_mode == "symbolic" or pre_dispatch:
        raise NotImplementedError("make_fx records operators with the sizes that they have, below autograd: "
                                  "mindtorch has neither symbolic sizes nor graphs from above autograd")

    @functools.wraps(f)
    def trace(*args):
        recorder = _Recorder(decomposition_table or {})
        for name, value in zip(_names(f, len(args)), args, strict=True):
            recorder.add_input(name, value)
        with recorder:
            result = f(*args)
        return recorder.module(result)
    return trace


def _names(function, count):
    """How inputs are called: by the parameters where these are positional, else arg0, arg1 ..."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) < count or any(each.kind not in plain for each in parameters[:count]):
        return [f"arg{place}_1" for place in range(count)]
    return [f"{each.name}_1" for each in parameters[:count]]


class _Recorder(TorchDispatchMode):
    """The mode that makes a node of each operator."""

    def __init__(self, decompositions: dict) -> None:
        super().__init__()
        self.decompositions, self.graph, self.root = decompositions, Graph(), Module()
        self.objects = {}               # the id of a tensor -> (its node, the tensor, which keeps the id)
        self.known = {}                 # where a tensor lies, and how -> the same
        self.constants = {True: 0, False: 0}

    def add_input(self, name: str, value: Any) -> None:
        """A placeholder for an argument."""
        self._note_parts(value, self.graph.placeholder(name))

    def _note_parts(self, value: Any, node: Any) -> None:
        """Nodes for the tensors of an argument, which lists, tuples and dicts may hold."""
        if isinstance(value, Tensor):
            self._note(value, node)
        elif isinstance(value, (list, tuple, dict)):
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                if any(isinstance(leaf, Tensor) for leaf in tree_leaves(part)):
                    self._note_parts(part, self.graph.call_function(operator.getitem, (node, key)))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._opname == "lift_fresh":        # what torch.tensor makes is a constant, and the program may write to it
            func = mindtorch.ops.aten.lift_fresh_copy.default
        if func in self.decompositions:
            with self:
                return self.decompositions[func](*args, **kwargs)
        given = map_aggregate((tuple(args), dict(kwargs)), self._node_of)
        result = func(*args, **kwargs)
        node = self.graph.call_function(func, *given, name=func.overloadpacket.__name__)
        node.meta["val"] = result
        if isinstance(result, Tensor):
            self._note(result, node)
        elif isinstance(result, (list, tuple)):
            for place, each in enumerate(result):
                if isinstance(each, Tensor):
                    self._note(each, self.graph.call_function(operator.getitem, (node, place)))
        return result

    def _note(self, tensor, node):
        self.objects[id(tensor)] = node, tensor
        if str(node.target) != "aten.detach.default":     # as autograd does of what it saves: not what others mean
            self.known[_place(tensor)] = node, tensor
        node.meta.setdefault("val", tensor)

    def _node_of(self, value):
        """The node of a tensor; other values as they are."""
        if not isinstance(value, Tensor):
            return value
        if id(value) in self.objects:
            return self.objects[id(value)][0]
        if _place(value) not in self.known:
            is_parameter = isinstance(value, Parameter)
            name = f"_{'param' if is_parameter else 'tensor'}_constant{self.constants[is_parameter]}"
            self.constants[is_parameter] += 1
            setattr(self.root, name, value)
            self._note(value, self.graph.get_attr(name))
        return self.known[_place(value)][0]

    def module(self, result: Any) -> GraphModule:
        """The graph with its output, as a module."""
        self.graph.output(map_aggregate(result, self._node_of))
        return GraphModule(self.root, self.graph)


def _place(tensor):
    """What tells tensors apart: their storage, and how they lie in it."""
    return (tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(),
            tensor.dtype)


def get_proxy_mode() -> TorchDispatchMode | None:
    """The mode by which make_fx traces what runs now; None outside of it.

    Example:
        >>> from mindtorch.fx.experimental.proxy_tensor import get_proxy_mode
        >>> print(get_proxy_mode())
        None
    """
    return next((mode for mode in reversed(_get_current_dispatch_mode_stack()) if isinstance(mode, _Recorder)), None)


__getattr__ = module_getattr(__name__)
