"""torch.fx.experimental.const_fold: what a graph computes from its module's tensors alone is computed once."""
from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from mindtorch import Tensor, tensor
from mindtorch.fx._symbolic_trace import symbolic_trace
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node, map_arg
from mindtorch.nn import Module, Parameter, ParameterList

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A GraphModule that runs `const_subgraph_module` before its first call, and keeps the results as parameters.

    has_folding_been_run tells whether it has. Without const_subgraph_module there was nothing to fold.
    device_for_folded_attrs: the device of results that are numbers.

    Arguments:
        root: a module or function
        graph: the graph
        const_subgraph: the graph of what can be computed beforehand
        fx_const_folded_attrs_name: the name of the attribute for the results
        device_for_folded_attrs: the device of the results

    Example:
        >>> from mindtorch.fx.experimental.const_fold import FoldedGraphModule, split_const_subgraphs
        >>> class Negated(torch.nn.Linear):
        ...     def forward(self, x):
        ...         return x * -self.weight
        >>> folded = split_const_subgraphs(Negated(2, 1))
        >>> isinstance(folded, FoldedGraphModule), folded.has_folding_been_run
        (True, False)
        >>> _ = folded(torch.ones(2))
        >>> folded.has_folding_been_run
        True
    """

    def __init__(self, root: Module, graph: Graph, const_subgraph: Graph | None = None,
                 fx_const_folded_attrs_name: str | None = None, device_for_folded_attrs: str = "cuda") -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants. A second call is a mistake."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("the constants have been computed already")
        self.has_folding_been_run = True
        results = self.const_subgraph_module()
        kept = (ParameterList(map(self._parameter, results)) if isinstance(results, tuple) else
                self._parameter(results))
        setattr(self, self.fx_const_folded_attrs_name, kept)

    def _parameter(self, value):
        if not isinstance(value, Tensor):
            return Parameter(tensor([value], device=self.device_for_folded_attrs), requires_grad=False)
        return Parameter(value.detach(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """`name` as an attribute name that the module does not have, with a number behind it where need be.

    Arguments:
        mod_traced: the module
        name: the wanted name

    Example:
        >>> from mindtorch.fx.experimental.const_fold import get_unique_attr_name_in_module
        >>> get_unique_attr_name_in_module(torch.nn.Linear(1, 1), "weight")
        'weight_1'
    """
    name = re.sub(r"\W", "_", name)
    if name[:1].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        stem, number = re.fullmatch(r"(.*?)(?:_(\d+))?", name).groups()
        name = f"{stem}_{int(number or 0) + 1}"
    return name


def split_const_subgraphs(module: Module | GraphModule,
                          skip_folding_node_fn: Callable[[Node], bool] | None = None,
                          device_for_folded_attrs: str = "cpu") -> FoldedGraphModule:
    """A module whose graph reads, as attributes, what the given one computes from its own tensors alone.

    A module that is no GraphModule is traced first. skip_folding_node_fn: whether a node is left as it is, and so all
    that uses it. Operators with side effects, random ones too, are left as well.

    Arguments:
        module: a module or GraphModule
        skip_folding_node_fn: a function of a node: whether it is left as it is
        device_for_folded_attrs: the device of the results

    Example:
        >>> from mindtorch.fx.experimental.const_fold import split_const_subgraphs
        >>> class Scaled(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scale = torch.nn.Parameter(torch.ones(2))
        ...     def forward(self, x):
        ...         return x * (self.scale + 1)
        >>> folded = split_const_subgraphs(Scaled())
        >>> [node.op for node in folded.graph.nodes]
        ['placeholder', 'get_attr', 'call_function', 'output']
        >>> folded(torch.ones(2))
        tensor([2., 2.], grad_fn=<MulBackward0>)
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    read = [node for node in constant if node.op != "get_attr" and any(user not in constant for user in node.users)]
    if not read:
        return FoldedGraphModule(traced, traced.graph, device_for_folded_attrs=device_for_folded_attrs)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    single = len(read) == 1
    setattr(traced, name, Parameter(tensor([0.0])) if single else ParameterList())      # until they are computed
    graph = _remaining(traced.graph, constant, read, name)
    folded = FoldedGraphModule(traced, graph, _constant_graph(traced.graph, constant, read), name,
                               device_for_folded_attrs)
    delattr(traced, name)
    return folded


def _constant_nodes(traced, skip):
    """The nodes that depend on no input, in order, as keys."""
    found = {}
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output") or (node.op != "get_attr" and (
                node.is_impure() or not all(each in found for each in node.all_input_nodes))):
            continue
        if skip is None or not skip(node):
            found[node] = None
    return found


def _constant_graph(graph, constant, read):
    """The graph that computes the nodes in `read`."""
    made, copies = Graph(), {}
    for node in constant:
        copies[node] = made.node_copy(node, copies.__getitem__)
    results = tuple(copies[node] for node in read)
    made.output(results[0] if len(results) == 1 else results)
    made.eliminate_dead_code()
    return made


def _remaining(graph, constant, read, name):
    """The graph without what is folded: the nodes of `read` are attributes."""
    made, copies, whole = Graph(), {}, None
    for node in graph.nodes:
        if node.op == "output":
            made.output(map_arg(node.args[0], copies.__getitem__), node.type).meta = node.meta.copy()
        elif node not in constant or node.op == "get_attr":
            copies[node] = made.node_copy(node, copies.__getitem__)
        elif node in read:
            if whole is None:
                whole = made.get_attr(name)
            copies[node] = whole if len(read) == 1 else made.call_function(operator.getitem, (whole, read.index(node)))
            copies[node].meta = node.meta.copy()
    for node in reversed(made.nodes):
        if node.op == "get_attr" and not node.users:
            made.erase_node(node)
    return made
