"""torch.fx.passes.split_module: a graph as a graph of submodules, by a function that says what belongs together."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule, _get_attr
from mindtorch.fx.node import Node, map_arg
from mindtorch.nn import Module

__all__ = ["Partition", "split_module"]


class Partition:
    """A submodule in the making.

    inputs and outputs: the nodes of the whole graph that cross its border; partitions_dependent_on: the names of the
    partitions that compute inputs; environment: its node for each of the whole graph's; targets: its modules.

    Arguments:
        name: the name of the part
        submod_name: the name of the submodule

    Example:
        >>> torch.fx.passes.split_module.Partition("0", "submod_0").submod_name
        'submod_0'
    """

    def __init__(self, name: str, submod_name: str) -> None:
        self.name, self.submod_name = name, submod_name
        self.node_names: list[str] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.partitions_dependent_on: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n outputs: "
                f"{list(self.outputs)},\n partitions depended on: {list(self.partitions_dependent_on)}")


def split_module(m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], int | str],
                 qualname_map: dict[str, str] | None = None, keep_original_order: bool | None = False,
                 keep_original_node_name: bool | None = False, keep_original_input_name: bool = True, *,
                 partition_affix: str | None = None, tuple_return: bool = False) -> GraphModule:
    """A module of submodules: `split_callback` says for each call of the graph in which one it is.

    Submodules are called submod_N, with an affix submod_AFFIX_N. Parameters that the graph reads are handed to them.
    qualname_map: takes for each module in a submodule its former path. keep_original_order: submodules are called in
    the order in which their first nodes come, and not by what they need of each other; ValueError where that cannot be.
    tuple_return: each returns a tuple. RuntimeError where two submodules need each other.

    Arguments:
        m: the GraphModule
        root_m: the module that attributes are read from
        split_callback: a function of a node: the number of its part
        qualname_map: a dict to which the old name of each attribute is added by the new one
        keep_original_order: whether parts follow the order of the graph
        keep_original_node_name: whether nodes keep their names
        keep_original_input_name: whether inputs of parts keep their names
        partition_affix: a text in the names of the parts
        tuple_return: whether each part returns a tuple

    Example:
        >>> split_module = torch.fx.passes.split_module.split_module
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> split = split_module(traced, None, lambda node: 0 if node.target is torch.relu else 1)
        >>> [name for name, _ in split.named_children()]
        ['submod_0', 'submod_1']
    """
    owner = root_m if root_m is not None else m
    partitions, of = {}, {}
    affix = f"{partition_affix}_" if partition_affix else ""
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = str(split_callback(node))
            part = of[node] = partitions.setdefault(name, Partition(name, f"submod_{affix}{name}"))
            part.node_names.append(node.name)
    for node in m.graph.nodes:
        for given in node.all_input_nodes:
            source, user = of.get(given), of.get(node)
            if source is user:
                continue
            if source is not None:
                source.outputs[given] = None
            if user is not None:
                user.inputs[given] = None
                if source is not None:
                    user.partitions_dependent_on[source.name] = None
    order = list(partitions.values()) if keep_original_order else _sorted(partitions)
    _fill(m, owner, of, partitions, qualname_map, keep_original_node_name, keep_original_input_name)
    return _whole(m, owner, order, tuple_return)


def _sorted(partitions):
    """The partitions, each behind those that it depends on."""
    waiting = {name: set(part.partitions_dependent_on) for name, part in partitions.items()}
    ready, order = [name for name, needed in waiting.items() if not needed], []
    while ready:
        name = ready.pop()                              # the last first, as torch orders them
        order.append(partitions[name])
        for other, needed in waiting.items():
            if name in needed:
                needed.remove(name)
                if not needed:
                    ready.append(other)
    if len(order) < len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return order


def _fill(m, owner, of, partitions, qualname_map, keep_node_names, keep_input_names):
    """Gives each partition its nodes."""
    for part in partitions.values():
        for number, given in enumerate(part.inputs):
            name = given.name if keep_input_names else f"arg_{number}"
            place = part.graph.placeholder(name, type_expr=given.type)
            place.meta = given.meta.copy()
            part.environment[given] = place
    for node, part in of.items():
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = _get_attr(owner, node.target)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        made = part.graph.create_node(
            node.op, target, map_arg(node.args, part.environment.__getitem__),
            dict(map_arg(node.kwargs, part.environment.__getitem__)), node.name if keep_node_names else None, node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made


def _whole(m, owner, order, tuple_return):
    """The module that calls the partitions."""
    graph, environment, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            environment[node] = graph.node_copy(node)
            if node.op == "get_attr":
                attributes[node.target] = _get_attr(owner, node.target)
    for part in order:
        for node in part.inputs:
            if node not in environment:
                raise ValueError(f"The partition {part.name} needs {node}, which is computed after it: keep_original_"
                                 "order is not possible")
        values = tuple(part.environment[node] for node in part.outputs)
        single = len(values) == 1 and not tuple_return
        part.graph.output(values[0] if single else values if values else None)
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = graph.call_module(part.submod_name, tuple(environment[node] for node in part.inputs))
        for place, node in enumerate(part.outputs):
            environment[node] = call if single else graph.call_function(operator.getitem, (call, place))
            environment[node].meta = node.meta.copy()
    for node in m.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], environment.__getitem__), node.type).meta = node.meta.copy()
    return GraphModule(attributes, graph)
