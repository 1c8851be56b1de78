"""Graph: nodes in the order in which they run."""
from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mindtorch.fx._codegen import CodeGen, PythonCode
from mindtorch.fx.node import Argument, Node, map_arg  # noqa: F401 - torch has Argument here too

if TYPE_CHECKING:
    from mindtorch.fx.graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

_NUMBERED = re.compile(r"(.*)_(\d+)$")
_RESERVED_NAMES = {"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree", "self"}
_EMPTY = object()


class _Namespace:
    """Names that have been given; a second `add` is `add_1`."""

    def __init__(self) -> None:
        self._used, self._counts = set(), {}

    def create_name(self, candidate: str, obj: object | None = None) -> str:
        """A name for `obj` like the candidate that is no keyword, builtin or name given before."""
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _NUMBERED.match(candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        if number is None:
            number = self._counts.get(candidate, 0)
            candidate = f"{base}_{number}" if number else base
        while candidate in self._used or self._is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        return candidate

    @staticmethod
    def _is_taken(name, obj):
        if keyword.iskeyword(name):
            return True
        if hasattr(builtins, name):
            return obj is not getattr(builtins, name)
        return name in _RESERVED_NAMES


def _snake_case(name):
    return "".join(f"_{c}" if c.isupper() and before.islower() else c
                   for before, c in zip(f".{name}", name, strict=False)).lower()


class Graph:
    """Operations that make up a function or the forward of a module: see Node.

    `inserting_before` and `inserting_after` say where new nodes go; else they go to the end.

    Arguments:
        owning_module: the GraphModule that the graph is of
        tracer_cls: the class of Tracer that made the graph
        tracer_extras: what the tracer keeps with the graph

    Example:
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.relu, (x,))
        >>> _ = graph.output(y)
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
            return relu
        >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(self, owning_module: GraphModule | None = None, tracer_cls: Any = None,
                 tracer_extras: dict[str, Any] | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._names_ = _Namespace()
        self._codegen = CodeGen()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras

    @property
    def nodes(self) -> Any:
        """The nodes in order, as a view; reversed() works."""
        return _NodeList(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Any]:
        """The nodes of an op, and of a target if one is given."""
        return [node for node in self.nodes if node.op == op and target in (None, node.target)]

    def output_node(self) -> Node:
        """The output."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    # --- making nodes -------------------------------------------------------------------------------------------------

    def create_node(self, op: str, target: Any, args: Any = None, kwargs: Any = None, name: str | None = None,
                    type_expr: Any | None = None) -> Node:
        """A new node at the place of insertion."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        node = Node(self, self._names_.create_name(name or self._target_to_str(target)), op, target, args, kwargs,
                    type_expr)
        self._insert(node)
        return node

    def _target_to_str(self, target):
        name = target if isinstance(target, str) else target.__name__
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(name)

    def placeholder(self, name: str, type_expr: Any | None = None, default_value: Any = _EMPTY) -> Node:
        """An input."""
        args = () if default_value is _EMPTY else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """An attribute of the module, by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any | None = None) -> Node:
        """A call of a submodule, by its path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any | None = None) -> Node:
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None,
                      type_expr: Any | None = None, name: str | None = None) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any | None = None) -> Any:
        """The end: `result` is returned."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Any = lambda x: x) -> Node:
        """A copy of a node of another graph; `arg_transform` gives this graph's nodes for its arguments."""
        copied = self.create_node(node.op, node.target, map_arg(node.args, arg_transform),
                                  dict(map_arg(node.kwargs, arg_transform)), node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy all nodes of `g` but the output; returns the output's copied value. val_map gets node -> copy."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # --- changing it --------------------------------------------------------------------------------------------------

    @contextmanager
    def _inserting_(self, insert):
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """Within it new nodes go before `n`; without a node: to the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return self._inserting_(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Within it new nodes go behind `n`, the first directly; without a node: to the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return self._inserting_(n.next.prepend)

    def erase_node(self, to_erase: Node) -> None:
        """Remove an unused node."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the "
                               f"graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if not to_erase._erased:
            to_erase._remove_from_list()
            to_erase._erased = True
            to_erase._set_inputs_((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove unused nodes without side effects. True if there were any."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        dead = 0
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                dead += 1
        return dead > 0

    def lint(self) -> None:
        """RuntimeError where a node is used before it is made, two nodes have one name, or a path does not exist."""
        seen, names = set(), set()
        for node in self.nodes:
            for argument in node.all_input_nodes:
                if argument.graph is not self:
                    raise RuntimeError(f"Argument '{argument}' of Node '{node}' does not belong to this Graph, but was "
                                       "used as an argument! If you are copying nodes from another graph, make sure to "
                                       "use ``arg_transform`` on node_copy() to remap values")
                if argument not in seen:
                    raise RuntimeError(f"Argument '{argument}' of Node '{node}' was used before it has been defined! "
                                       f"Please check that Nodes in the graph are topologically ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_path_(node)

    def _check_path_(self, node):
        found = self.owning_module
        for name in node.target.split("."):
            if not hasattr(found, name):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of "
                                   f"{node.target.rpartition(name)[0].rstrip('.')}")
            found = getattr(found, name)

    # --- text ---------------------------------------------------------------------------------------------------------

    def python_code(self, root_module: str, *, verbose: bool = False) -> PythonCode:
        """The source of a function that runs the graph, and the globals that it needs."""
        return self._codegen.generate(self.nodes, root_module, _Namespace())

    def set_codegen(self, codegen: CodeGen) -> None:
        """The object that writes the source."""
        self._codegen = codegen

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print a table with a line a node."""
        heads = ("opcode", "name", "target", "args", "kwargs")
        rows = [[str(cell) for cell in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, ["-" * width for width in widths], *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        copied._codegen = self._codegen
        memo = {} if memo is None else memo
        result = copied.graph_copy(self, memo, return_output_node=True)
        if result is not None:
            value, old = result
            copied.output(value, old.type).meta = dict(old.meta)
        return copied


class _NodeList:
    """The nodes of a graph, in order."""

    def __init__(self, graph: Any, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Any:
        root = self.graph._root
        node = root._prev if self.backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backwards else node._next

    def __reversed__(self) -> Any:
        return _NodeList(self.graph, not self.backwards)
