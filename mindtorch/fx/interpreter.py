"""Interpreter: runs a graph node by node. Transformer: builds a changed copy of a graph."""
from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mindtorch.fx._symbolic_trace import Tracer
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import map_aggregate, map_arg
from mindtorch.fx.proxy import Proxy

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module node by node: `Interpreter(module).run(*args)`.

    Derived classes change what a kind of node does, by the methods named as the ops. Values go as soon as nobody needs
    them, unless garbage_collect_values is false.

    Arguments:
        module: the module
        garbage_collect_values: whether a value is dropped after its last use
        graph: the graph; None means that of the module

    Example:
        >>> class Counting(torch.fx.Interpreter):
        ...     calls = 0
        ...     def call_function(self, target, args, kwargs):
        ...         self.calls += 1
        ...         return super().call_function(target, args, kwargs)
        >>> interpreter = Counting(torch.fx.symbolic_trace(lambda x: torch.relu(x + 1)))
        >>> interpreter.run(torch.ones(2)), interpreter.calls
        (tensor([2., 2.]), 2)
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = self.submodules = module
        self.graph = module.graph if graph is None else graph
        self.garbage_collect_values = garbage_collect_values
        self.env, self.user_to_last_uses = {}, {}
        if garbage_collect_values:
            seen = set()
            for user in reversed(self.graph.nodes):
                for node in user.all_input_nodes:
                    if node not in seen:
                        seen.add(node)
                        self.user_to_last_uses.setdefault(user, []).append(node)

    def run(self, *args: Any, initial_env: Any = None, enable_io_processing: bool = True) -> Any:
        """The graph's result for these arguments. initial_env: known values of nodes."""
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                self._add_place_(error, node)
                raise
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                return self.env[node]
        return None

    def _add_place_(self, error, node):
        first = str(error.args[0]) if error.args else ""
        error.args = (f"{first}\n\nWhile executing {node.format_node()}", *error.args[1:])

    @contextmanager
    def _set_current_node(self, node):
        self.current_node = node
        yield

    def run_node(self, n: Any) -> Any:
        """The value of a node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The next argument, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Calls the function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Calls the submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The graph's result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The attribute at a path below the module."""
        found, names = self.module, target.split(".")
        for i, name in enumerate(names):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(names[:i + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Any) -> Any:
        """Arguments with values in the place of nodes."""
        def value(node):
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such "
                                   "issues")
            return self.env[node]
        return map_arg(args, value)


class _TransformerTracer(Tracer):
    def __init__(self, graph: Any, module: Module) -> None:
        super().__init__()
        self.graph, self.root = graph, module
        self.tensor_attrs = {}

    def is_leaf_module(self, m: Any, module_qualified_name: Any) -> Any:
        return True


class Transformer(Interpreter):
    """Interprets a graph on proxies; `transform()` is the module of the graph that comes of it.

    Derived classes change call_function and its like: what they do to the proxies is the new graph.

    Arguments:
        module: the GraphModule

    Example:
        >>> class Doubling(torch.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         return 2 * super().call_function(target, args, kwargs)
        >>> Doubling(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = _TransformerTracer(self.new_graph, module)
        self.tracer.root = module

    def placeholder(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Proxy:
        """An input of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0]) if args
                     else self.new_graph.placeholder(target), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Proxy:
        """The same attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The same call in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The same call in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """A GraphModule of the new graph."""
        result = super().run()
        if result is not None:
            self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
        return GraphModule(self.module, self.new_graph)
