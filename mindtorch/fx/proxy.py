"""Proxy: a placeholder for a value during tracing; operations on it become nodes of a graph."""
from __future__ import annotations

import bisect
import copy
import dataclasses
import dis
import enum
import inspect
import operator
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch
from mindtorch import overrides
from mindtorch.fx._codegen import MAGIC, REFLECTED
from mindtorch.fx.node import Argument, Node, map_aggregate  # noqa: F401 - torch has Argument here too

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

_CONSTANTS = (str, int, float, bool, complex, mindtorch.dtype, mindtorch.Tensor, mindtorch.device,
              mindtorch.memory_format, mindtorch.layout, enum.Enum, type(None), type(...))


_HERE = os.path.dirname(mindtorch.__file__)


class TraceError(ValueError):
    """A function does something that cannot be recorded."""


class TracerBase:
    """Makes nodes of the operations on proxies.

    record_stack_traces: each node notes in `stack_trace` where it was traced; check_mutable_operations: functions that
    write to their arguments are refused; trace_asserts: `assert proxy` becomes a node; proxy_buffer_attributes: buffers
    are proxies in traced code, as parameters are.

    Example:
        >>> issubclass(torch.fx.Tracer, torch.fx.proxy.TracerBase)
        True
    """

    graph: object
    traced_func_name = "forward"
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None,
                    type_expr: Any | None = None) -> Node:
        """A node for an operation. RuntimeError for one that writes, where check_mutable_operations is set."""
        if kind == "call_function" and self.check_mutable_operations and _writes(target, kwargs):
            raise RuntimeError(f"Tried to trace mutable operation {_overload_name(target, kwargs)}. FX only supports "
                               "functional code, so operations that mutate operands in-place (e.g. via `out` arguments)"
                               " are not supported")
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node's value."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                     name: str | None = None, type_expr: Any | None = None,
                     proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """Creates a node for an operation on proxies, and its proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces and node.stack_trace is None:
            node.stack_trace = "".join(traceback.format_list(
                [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_HERE)]))
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """An argument as nodes have it: proxies become their nodes. NotImplementedError for what no code can say."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*(self.create_arg(item) for item in a))
        if isinstance(a, (tuple, list)):
            return (list if isinstance(a, list) else tuple)([self.create_arg(item) for item in a])
        if isinstance(a, dict):
            return {self._key_(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(*(self.create_arg(number) for number in (a.start, a.stop, a.step)))
        if isinstance(a, (*_CONSTANTS, Node)):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            made = {each.name: self.create_arg(getattr(a, each.name)) for each in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), made)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key_(self, key):
        key = self.create_arg(key)

        def refuse(node):
            raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node. Got key: " + str(key))
        map_aggregate(key, lambda part: refuse(part) if isinstance(part, Node) else part)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """A proxy as a condition: its value is unknown, so TraceError."""
        if self.trace_asserts and _is_asserted(inspect.currentframe().f_back.f_back):
            self.create_proxy("call_function", mindtorch._assert, (obj, ""), {})
            return True
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """The elements of a proxy where the code says how many it takes; else TraceError."""
        frame = inspect.currentframe().f_back.f_back
        instructions = list(dis.get_instructions(frame.f_code))
        place = bisect.bisect_left([instruction.offset for instruction in instructions], frame.f_lasti)
        if instructions[place].opname == "UNPACK_SEQUENCE":
            return (obj[i] for i in range(instructions[place].argval))
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or "
                         "as a *args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more "
                         "detailed explanation of what types of control flow can be traced, and check out the Proxy "
                         "docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Proxy:
        """The keys for `**proxy`."""
        return Attribute(obj, "keys")()


def _writes(function, kwargs):
    """Whether a call of a function of torch writes to its arguments."""
    if kwargs.get("out") is not None:
        return True
    name = getattr(function, "__name__", "")
    return name.endswith("_") and not name.endswith("__") and overrides.resolve_name(function) is not None


def _overload_name(function, kwargs):
    return f"aten::{function.__name__}{'.out' if kwargs.get('out') is not None else ''}"


def _is_asserted(frame):
    """Whether the code of a frame is at the condition of an assertion."""
    instructions = iter(dis.get_instructions(frame.f_code))
    for instruction in instructions:
        if instruction.offset >= frame.f_lasti and instruction.opname.startswith("POP_JUMP"):
            following = next(instructions)
            return "IF_TRUE" in instruction.opname and (following.opname == "LOAD_ASSERTION_ERROR" or (
                following.argval is AssertionError or following.argrepr == "AssertionError"))
    return False


class GraphAppendingTracer(TracerBase):
    """Makes nodes at the place of insertion of a graph: `Proxy(node)` uses it to add to the node's graph.

    Arguments:
        graph: the graph

    Example:
        >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
        >>> tracer = torch.fx.proxy.GraphAppendingTracer(graph)
        >>> tracer.graph is graph
        True
    """

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph


class Proxy:
    """Stands for the value of `node`. Operators, attributes, methods and functions of torch on it are recorded.

    What needs the value cannot be: conditions (`if x:`), loops over it, `len(x)`, `int(x)`.

    Arguments:
        node: the node whose value it stands for
        tracer: the Tracer that records

    Example:
        >>> seen = []
        >>> def f(x):
        ...     seen.append(type(x).__name__)
        ...     return x + 1
        >>> module = torch.fx.symbolic_trace(f)
        >>> seen
        ['Proxy']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:          # in place of a node for the call of this name
        return Proxy(copy.deepcopy(self.node, memo), copy.deepcopy(self.tracer, memo))

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Proxy]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def keys(self) -> Proxy:
        """The keys of what the proxy stands for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be "
                           "recorded, please call torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method: Callable[..., Any], types: tuple[type, ...],
                           args: tuple[Any, ...] | None = (), kwargs: dict[str, Any] | None = None) -> Proxy:
        kwargs = kwargs or {}
        tracers = {}
        map_aggregate((args, kwargs), lambda a: tracers.setdefault(id(a.tracer), a.tracer)
                      if isinstance(a, Proxy) else a)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations "
                               f"{orig_method}")
        tracer = next(iter(tracers.values()))
        name = overrides.resolve_name(orig_method) or ""
        if name.startswith("torch.Tensor.") and not name.endswith("__get__"):
            return tracer.create_proxy("call_method", name.removeprefix("torch.Tensor."), args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """`proxy.attr`: a method if it is called, else an attribute, which becomes a node when it is used.

    Arguments:
        root: the Proxy
        attr: the name

    Example:
        >>> seen = []
        >>> def function(x):
        ...     seen.append(type(x.shape))
        ...     return x
        >>> _ = torch.fx.symbolic_trace(function)
        >>> seen[0].__name__
        'Attribute'
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self) -> Node:
        """The node of the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(function):
    def record(*args, **kwargs):
        tracer = args[0].tracer
        return tracer.create_proxy("call_function", function, args, kwargs)
    return record


def _reflected(function):
    def record(self, left):
        return self.tracer.create_proxy("call_function", function, (left, self), {})
    return record


for _name in MAGIC:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator(getattr(operator, _name)))
for _name in REFLECTED:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(getattr(operator, _name)))


class ParameterProxy(Proxy):
    """A proxy of a parameter. Its shape is known, so conditions on it can be traced."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self):
        """The sizes of the parameter."""
        return self.param.size()

    def dim(self):
        """The number of its dimensions."""
        return self.param.dim()

    def numel(self):
        """The number of its elements."""
        return self.param.numel()

    def nelement(self):
        """The number of its elements."""
        return self.param.nelement()
