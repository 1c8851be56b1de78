"""torch.fx.passes.tools_common: what passes ask of nodes, and the order of a graph."""
from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from mindtorch import Tensor
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node, _get_qualified_name
from mindtorch.nn import Module

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

NodeList = list[Node]
NodeSet = set[Node]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: str | Callable) -> str:
    """The name of a function or class, with its module; a name as it is; "acc_ops.NAME" of one from such a module.

    Arguments:
        k: the function, class or name

    Example:
        >>> torch.fx.passes.tools_common.get_acc_ops_name(torch.nn.Linear)
        'torch.nn.modules.linear.Linear'
    """
    if isinstance(k, str):
        return k
    if "acc_ops" in (k.__module__ or ""):
        return f"acc_ops.{k.__name__}"
    return _get_qualified_name(k)


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """What a node calls, as a name: of a function, with its module; of a submodule, its class; of a method, its name.

    AssertionError for a node that calls nothing.

    Arguments:
        submodules: the submodules by their paths: `dict(module.named_modules())`
        node: the node

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> _, relu, _ = module.graph.nodes
        >>> torch.fx.passes.tools_common.get_node_target({}, relu)
        'torch.relu'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    return get_acc_ops_name(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's result is a tensor, by its meta "type", which ShapeProp writes; False without one.

    Arguments:
        node: the node

    Example:
        >>> module = torch.fx.symbolic_trace(torch.nn.ReLU())
        >>> _ = torch.fx.passes.shape_prop.ShapeProp(module).propagate(torch.ones(2))
        >>> [torch.fx.passes.tools_common.is_node_output_tensor(node) for node in module.graph.nodes]
        [True, True, True]
    """
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, Tensor)


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each behind those of them that it needs; where that leaves a choice, in the order given.

    Nodes of a cycle, and what needs them, are left out.
    """
    place = {node: number for number, node in enumerate(nodes)}
    waits_for = {node: sum(each in place for each in node.all_input_nodes) for node in nodes}
    ready = [place[node] for node in nodes if not waits_for[node]]
    found = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        found.append(node)
        for user in node.users:
            if user in place:
                waits_for[user] -= 1
                if not waits_for[user]:
                    heapq.heappush(ready, place[user])
    return found


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Move a graph's nodes so that each stands behind what it needs; as few as possible change places.

    The output stands last. AssertionError for a graph with a cycle.

    Arguments:
        gm: the module, which is returned

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> x, relu, *_ = module.graph.nodes
        >>> relu.append(x)
        >>> _ = torch.fx.passes.tools_common.stable_topological_sort(module)
        >>> [node.name for node in module.graph.nodes]
        ['x', 'relu', 'add', 'output']
    """
    nodes = sorted(gm.graph.nodes, key=lambda node: node.op == "output")
    order = in_order(nodes)
    if len(order) != len(nodes):
        raise AssertionError(f"Input graph has cycles, unable to add {[node for node in nodes if node not in order]}")
    for node in order:
        gm.graph._root.prepend(node)            # to the end
    return gm


def legalize_graph(gm: GraphModule) -> GraphModule:
    """The same as stable_topological_sort.

    Arguments:
        gm: the module, which is returned

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> torch.fx.passes.tools_common.legalize_graph(module) is module
        True
    """
    return stable_topological_sort(gm)
