"""torch.fx.experimental.normalize: graphs whose calls have one form."""
from __future__ import annotations

import operator
from typing import Any

import mindtorch
from mindtorch.fx import Proxy, Transformer
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node
from mindtorch.fx.operator_schemas import create_type_hint, normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """NormalizeArgs(module).transform() is the module with the arguments of its calls by name, defaults filled in.

    The types of nodes, which ShapeProp notes, choose among overloads. With normalize_to_only_use_kwargs=False
    arguments that may be given by position are.

    Arguments:
        module: the module
        normalize_to_only_use_kwargs: whether all arguments are given by name

    Example:
        >>> module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        >>> print(torch.fx.experimental.normalize.NormalizeArgs(module).transform().code.strip())
        def forward(self, input : 'Tensor'):
            input_1 = input
            _0 = getattr(self, "0")(input = input_1);  input_1 = None
            return _0
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """The proxy of a node's copy, which keeps what the node noted."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def type_of(given):
            kind = given.meta.get("type") if isinstance(given, Node) else type(given)
            return create_type_hint([type_of(each) for each in given]) if isinstance(given, (list, tuple)) else kind
        if n.op == "call_function":
            out = self.call_function(n.target, args, kwargs, tuple(map(type_of, n.args)),
                                     {name: type_of(given) for name, given in n.kwargs.items()})
        else:
            out = super().run_node(n)
        if n.op != "output" and isinstance(out, Proxy):
            self.node_map[out] = n
            out.node.meta = n.meta.copy()
            out.node.type = n.type
        return out

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                      arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None) -> Any:
        """A call of a function, in the form that its signature gives it."""
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, *found)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a module, in the form that the signature of its forward gives it."""
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(Transformer):
    """Exchanges functions that Python has an operator for by that: torch.add(x, y) becomes x + y.

    Arguments:
        module: the module

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.add(x, 1))
        >>> print(torch.fx.experimental.normalize.NormalizeOperators(module).transform().code.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
    """

    binary_magic_method_remap = {
        mindtorch.add: operator.add, mindtorch.mul: operator.mul, mindtorch.sub: operator.sub,
        mindtorch.div: operator.truediv, mindtorch.floor_divide: operator.floordiv,
        mindtorch.remainder: operator.mod, mindtorch.eq: operator.eq, mindtorch.ne: operator.ne,
        mindtorch.lt: operator.lt, mindtorch.le: operator.le, mindtorch.gt: operator.gt, mindtorch.ge: operator.ge}

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function, or of the operator in its place."""
        remapped = self.binary_magic_method_remap.get(target) if len(args) == 2 and not kwargs else None
        return super().call_function(remapped or target, args, kwargs)
