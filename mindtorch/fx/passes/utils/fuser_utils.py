"""torch.fx.passes.utils.fuser_utils: nodes of a graph become a submodule, which the graph calls in their place."""
from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node
from mindtorch.fx.passes.tools_common import in_order, stable_topological_sort

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort",
           "validate_partition"]


def topo_sort(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each behind those of them that it needs; AssertionError where they need each other.

    Arguments:
        nodes: nodes of a graph

    Example:
        >>> x, relu, add, output = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph.nodes
        >>> torch.fx.passes.utils.fuser_utils.topo_sort([add, relu])
        [relu, add]
    """
    order = in_order(nodes)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can be one call: nothing outside needs one of them and is needed by another.

    Arguments:
        partition: the nodes

    Example:
        >>> x, relu, sin, add, output = torch.fx.symbolic_trace(lambda x: torch.relu(x).sin() + 1).graph.nodes
        >>> torch.fx.passes.utils.fuser_utils.validate_partition([relu, add])
        False
    """
    return not _needs_itself(set(partition))


def _needs_itself(inside, called_with=lambda node: (node,)):
    """Whether something outside of `inside` needs one of these nodes and is needed by another.

    `called_with` gives the nodes that are one call with a node: whatever needs one of them needs all.
    """
    waiting = [user for node in inside for user in node.users if user not in inside]
    seen = set(waiting)
    while waiting:
        for node in called_with(waiting.pop()):
            for user in node.users:
                if user in inside:
                    return True
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
    return False


def fuse_as_graphmodule(gm: GraphModule, nodes: Sequence[Node], module_name: str,
                        partition_lookup_table: Mapping[Node, Any] | None = None, *,
                        always_return_tuple: bool = False) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module of copies of some nodes, the nodes that it takes as inputs, and those that others need of it.

    It returns the latter, in that order: one alone as it is. AssertionError for nodes that cannot be one call.

    Arguments:
        gm: the module, which stays as it is
        nodes: its nodes, each behind those that it needs
        module_name: the name of the module's class
        partition_lookup_table: the same nodes, as the keys of a dict; nothing depends on it
        always_return_tuple: whether one result is returned as a tuple as well

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> x, relu, add, output = module.graph.nodes
        >>> fuse = torch.fx.passes.utils.fuser_utils.fuse_as_graphmodule
        >>> fused, inputs, outputs = fuse(module, [relu, add], "Fused")
        >>> fused(torch.tensor([-1.0, 2.0])), inputs, outputs
        (tensor([1., 3.]), (x,), (add,))
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph = Graph()
    copies, inputs = {}, {}

    def copied(node):
        if node in copies:
            return copies[node]
        if node not in inputs:
            inputs[node] = graph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = dict(node.meta)
        return inputs[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, copied)
    outputs = tuple(node for node in nodes if any(user not in copies for user in node.users))
    values = tuple(copies[node] for node in outputs)
    graph.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    graph.lint()
    return GraphModule(gm, graph, module_name), tuple(inputs), outputs


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...],
                 insertion_point: Node | None = None) -> GraphModule:
    """Has a graph call a module that fuse_as_graphmodule made, in place of the nodes, which then are unused.

    Arguments:
        gm: the module, which is returned
        sub_gm: the module that is called
        orig_inputs: its inputs
        orig_outputs: the nodes whose results it returns
        insertion_point: the node behind which the call is put; the last of orig_outputs without one

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> x, relu, add, output = module.graph.nodes
        >>> utils = torch.fx.passes.utils.fuser_utils
        >>> fused = utils.fuse_as_graphmodule(module, [relu, add], "Fused")
        >>> _ = utils.insert_subgm(module, *fused)
        >>> output.args
        (fused,)
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        found = [node for node in gm.graph.nodes if node in orig_outputs]
        if not found:
            raise AssertionError("Cannot determine insertion point: no insertion_point provided and orig_outputs is "
                                 "empty. Pass the last partition node as insertion_point.")
        insertion_point = found[-1]
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, orig_inputs)
        if not isinstance(sub_gm.graph.output_node().args[0], tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
            return gm
        for place, node in enumerate(orig_outputs):
            node.replace_all_uses_with(gm.graph.call_function(operator.getitem, (call, place)), propagate_meta=True)
    call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: Sequence[Node]) -> None:
    """Erases unused nodes, from the last to the first.

    Arguments:
        gm: the module
        nodes: its nodes, each behind those that it needs

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: (torch.relu(x) + 1, x)[1])
        >>> x, relu, add, output = module.graph.nodes
        >>> torch.fx.passes.utils.fuser_utils.erase_nodes(module, [relu, add])
        >>> len(module.graph.nodes)
        2
    """
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: Sequence[Mapping[Node, Any]], prefix: str = "fused_",
                       always_return_tuple: bool = False) -> GraphModule:
    """Has a graph call a submodule for each of several groups of its nodes: `fused_0`, `fused_1`, ...

    AssertionError for a group that cannot be one call.

    Arguments:
        gm: the module, which is changed and returned
        partitions: the groups: dicts whose keys are nodes
        prefix: what the submodules' names begin with
        always_return_tuple: whether submodules with one result return it as a tuple

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> x, relu, add, output = module.graph.nodes
        >>> _ = torch.fx.passes.utils.fuser_utils.fuse_by_partitions(module, [{relu: None, add: None}])
        >>> [node.name for node in module.graph.nodes]
        ['x', 'fused_0', 'output']
    """
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        fused = fuse_as_graphmodule(gm, nodes, f"{prefix}{number}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, *fused, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    gm.recompile()
    return gm
