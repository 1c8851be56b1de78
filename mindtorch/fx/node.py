"""A node of a graph: an operation, its arguments, and the nodes that use its result."""
from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable
from typing import Any

import mindtorch
from mindtorch import overrides
from mindtorch.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = object
Argument = object
_LEGAL_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effectful_functions = {operator.setitem}


def has_side_effect(fn: Any) -> Any:
    """Keeps unused calls of `fn` in graphs. Usable as a decorator.

    Arguments:
        fn: the function

    Example:
        >>> @torch.fx.has_side_effect
        ... def announce(x):
        ...     print("called")
    """
    _side_effectful_functions.add(fn)
    return fn


_RANDOM = ("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
           "randn_like", "randperm")


def _writes_or_draws(function, impure_random):
    """Whether an operator writes to an argument, by its schema, or draws random numbers.

    As in torch, the functions of _RANDOM do so whatever impure_random says.
    """
    name = getattr(function, "__name__", None)
    if name in _RANDOM and function is getattr(mindtorch, name):
        return True
    operator_of = getattr(function, "default", None) if hasattr(function, "overloads") else function
    schema = getattr(operator_of, "_schema", None)
    if schema is None:
        return False
    return schema.is_mutable or (impure_random and any(each.name == "generator" for each in schema.arguments))


def map_aggregate(a: Any, fn: Any) -> Any:
    """`a` with fn(x) in the place of each x that is no container; tuples, lists, dicts and slices are gone through.

    Arguments:
        a: any value, also in containers
        fn: a function of a value

    Example:
        >>> torch.fx.node.map_aggregate({"a": [1, 2], "b": (3,)}, lambda x: x * 10)
        {'a': [10, 20], 'b': (30,)}
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Any) -> Any:
    """`a` with fn(node) in the place of each node in it.

    Arguments:
        a: a node, or containers of them
        fn: a function of a node

    Example:
        >>> x, y = list(torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes)[:2]
        >>> torch.fx.node.map_arg((x, [y, 3]), lambda node: node.name)
        ('x', ['add', 3])
    """
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def qualified_name(func: Any) -> Any:
    """How generated code names a function: "torch.add", "operator.mul"; of a builtin the name alone."""
    if getattr(builtins, getattr(func, "__name__", ""), None) is func:
        return func.__name__
    if (getattr(func, "__module__", None) or "").partition(".")[2].startswith("_ops."):
        return f"torch.ops.{func}"
    known = overrides.resolve_name(func)
    if known is not None:
        return known
    name = getattr(func, "__qualname__", func.__name__) if isinstance(func, type) else func.__name__
    module = (getattr(func, "__module__", None) or "").replace("_operator", "operator")
    first, dot, rest = module.partition(".")
    return f"{'torch' if first == 'mindtorch' else first}{dot}{rest}.{name}"


def _get_qualified_name(func: Any) -> str:
    """The name by which passes know a function: that of generated code, but for operator, which Python has from C."""
    name = func if isinstance(func, str) else qualified_name(func)
    return f"_{name}" if name.startswith("operator.") else name


def type_name(kind: Any) -> Any:
    """How annotations are written."""
    if kind is None or kind is type(None):
        return "None"
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        return kind.__qualname__ if kind.__module__ == "builtins" else qualified_name(kind)
    return str(kind).replace("mindtorch.", "torch.")


class Node:
    """One operation of a graph.

    op says which: "placeholder" (an input, `target` its name), "get_attr" (an attribute of the module, by path),
    "call_function", "call_method" (args[0] is the object), "call_module" (by path) or "output" (args[0] is returned).

    Arguments:
        graph: the graph
        name: the name of its value
        op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output"
        target: what is called or read: a function, or a name
        args: the arguments
        kwargs: the arguments by name
        return_type: the type of the value; None for any

    Example:
        >>> [node.op for node in torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes]
        ['placeholder', 'call_function', 'output']
    """

    name: str
    op: str
    users: dict[Node, None]
    type: Any | None
    meta: dict[str, Any]

    def __init__(self, graph: Any, name: str, op: str, target: Any, args: Any, kwargs: Any,
                 return_type: Any | None = None) -> None:
        if op not in _LEGAL_OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                                 f"{type(target).__name__} but a Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                             f"{type(target).__name__} but a str is expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self.meta = {}, {}
        self._args, self._kwargs, self._input_nodes = (), {}, {}
        self._prev = self._next = self
        self._erased = False
        self._set_inputs_(args, kwargs)

    # --- inputs -------------------------------------------------------------------------------------------------------

    def _set_inputs_(self, args, kwargs):
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(node):
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node
        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)

    @property
    def args(self) -> Any:
        """The positional arguments. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: Any) -> None:
        self._set_inputs_(args, self._kwargs)

    @property
    def kwargs(self) -> Any:
        """The arguments by name. Assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Any) -> None:
        self._set_inputs_(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Positional argument `idx` becomes `arg`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """`arg` comes before positional argument `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """The argument `key` becomes `arg`."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace `old_input` by `new_input` in all arguments."""
        self._exchange_(lambda node: new_input if node is old_input else node)

    def _exchange_(self, fn):
        self._set_inputs_(map_arg(self._args, fn), map_arg(self._kwargs, fn))

    def replace_all_uses_with(self, replace_with: Node,
                              delete_user_cb: Callable[[Node], bool] | None = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Replace this node by `replace_with` in the arguments of all nodes; returns the nodes that changed."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                                     "replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # --- the place in the graph ---------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node behind this one; the last is followed by the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move `x` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is not x:
            x._remove_from_list()
            x._prev, x._next = self._prev, self
            x._prev._next = x._next._prev = x

    def append(self, x: Node) -> None:
        """Move `x` behind this node."""
        if x is not self._next:
            self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does more than compute: it writes, draws random numbers, or is an input or the output."""
        if self.op in ("placeholder", "output") or self.target in _side_effectful_functions:
            return True
        if self.target is mindtorch._assert or self.target is mindtorch._assert_async:
            return True
        if self.op == "call_function" and _writes_or_draws(self.target, impure_random):
            return True
        if self.op == "call_method" and self.target.endswith("_") and not self.target.endswith("__"):
            return True
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(module.get_submodule(self.target), "_is_impure", False)
        return False

    @property
    def stack_trace(self) -> str | None:
        """Where the operation was traced, if that was recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: Any) -> None:
        self.meta["stack_trace"] = trace

    def normalized_arguments(self, root: Any, arg_types: tuple[Any, ...] | None = None,
                             kwarg_types: dict[str, Any] | None = None, normalize_to_only_use_kwargs: bool = False
                             ) -> Any:
        """The arguments in the form that the signature of the target gives them; None where that cannot be told.

        root: the module that submodules are found in. See torch.fx.operator_schemas.normalize_function.
        """
        from mindtorch.fx.operator_schemas import normalize_function, normalize_module
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types,
                                      normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    # --- text ---------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.name

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"
        return qualified_name(target)

    def format_node(self) -> str | None:
        """The line of the node when a graph is printed."""
        annotation = "" if self.type is None else f"{type_name(self.type)} "
        place = f"%{self.name} : {annotation}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            return f"{place}[target={self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return f"{place}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return (f"{place}[target={self._pretty_print_target(self.target)}](args = {format_arg(self.args)}, "
                f"kwargs = {format_arg(self.kwargs)})")


def format_arg(arg: Any) -> Any:
    """An argument in a printed graph: nodes carry a percent sign."""
    if isinstance(arg, list):
        return f"[{', '.join(map(format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {format_arg(value)}' for key, value in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)
