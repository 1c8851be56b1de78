"""torch.fx.passes.split_utils: a graph as a graph of submodules, by the tags of its nodes."""
from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule, _get_attr
from mindtorch.fx.node import Node, map_arg
from mindtorch.nn import Module

__all__ = ["getattr_recursive", "setattr_recursive", "split_by_tags"]


@dataclass
class _Part:
    """A submodule in the making: its graph, and of its nodes and inputs the copies."""

    name: str
    graph: Graph = field(default_factory=Graph)
    copies: dict[Node, Node] = field(default_factory=dict)
    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute at a path with dots; a part that is a number counts in a list. None where a part is missing.

    Arguments:
        obj: the object
        name: the path

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1))
        >>> torch.fx.passes.split_utils.getattr_recursive(model, "0.weight").shape
        torch.Size([1, 2])
    """
    for part in name.split("."):
        if isinstance(obj, list):
            obj = obj[int(part)]
        elif hasattr(obj, part):
            obj = getattr(obj, part)
        else:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Puts a value at a path with dots; modules on the way are made.

    Arguments:
        obj: the object
        attr: the path
        value: the value

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1))
        >>> torch.fx.passes.split_utils.setattr_recursive(model, "0.scale", 2.0)
        >>> model[0].scale
        2.0
    """
    *path, last = attr.split(".")
    for part in path:
        if not hasattr(obj, part):
            setattr(obj, part, Module())
        obj = getattr(obj, part)
    setattr(obj, last, value)


def split_by_tags(gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False,
                  return_tuple: bool = False, GraphModuleCls: type[GraphModule] = GraphModule) -> Any:
    """A module that calls one submodule for each tag, in the order of `tags`, which has the nodes with that tag.

    A node's tag is its attribute `tag`; every call needs one, and no part may need what a later one computes.
    return_fqn_mapping: a pair, with the new path of each submodule and parameter that moved. return_tuple: submodules
    with one result return a tuple as well.

    Arguments:
        gm: the GraphModule
        tags: the tags, in the order of the parts
        return_fqn_mapping: whether the new names of submodules are returned as well
        return_tuple: whether each part returns a tuple
        GraphModuleCls: the class of the modules

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
        >>> for node, tag in zip(list(module.graph.nodes)[1:3], "ab"):
        ...     node.tag = tag
        >>> [name for name, _ in torch.fx.passes.split_utils.split_by_tags(module, ["a", "b"]).named_children()]
        ['a', 'b']
    """
    main = _Part("")
    parts = {tag: _Part(tag) for tag in tags}
    paths: dict[str, str] = {}
    output = None

    def part_of(node):
        return main if node.op in ("placeholder", "output", "get_attr") else parts[node.tag]

    for node in gm.graph.nodes:
        if node.op == "output":
            output = node
            continue
        part = part_of(node)
        if part is main:
            main.copies[node] = main.graph.node_copy(node, main.copies.__getitem__)
            continue
        for given in node.all_input_nodes:
            if given in part.copies:
                continue
            if given.op == "get_attr":
                part.copies[given] = part.graph.node_copy(given)
                part.attributes[given.target] = _get_attr(gm, given.target)
                paths[given.target] = f"{part.name}.{given.target}"
                continue
            source = part_of(given)
            if source is not main and tags.index(given.tag) > tags.index(node.tag):
                raise AssertionError(f"the node {given}, which {node} needs, has a later tag")
            place = part.graph.placeholder(given.name, type_expr=given.type)
            place.meta = given.meta.copy()
            part.copies[given] = place
            part.inputs[given] = None
            if source is not main:
                source.outputs[given] = None
        part.copies[node] = part.graph.node_copy(node, part.copies.__getitem__)
        if node.op == "call_module":
            part.attributes[node.target] = gm.get_submodule(node.target)
            paths[node.target] = f"{part.name}.{node.target}"
    for node in output.all_input_nodes:
        if part_of(node) is not main:
            part_of(node).outputs[node] = None

    root: dict[str, Any] = {node.target: _get_attr(gm, node.target) for node in main.graph.nodes
                            if node.op == "get_attr"}
    for part in parts.values():
        if not part.copies:
            continue
        values = tuple(part.copies[node] for node in part.outputs)
        single = len(values) == 1 and not return_tuple
        part.graph.output(values[0] if single else values)
        root[part.name] = GraphModuleCls(part.attributes, part.graph)
        call = main.graph.call_module(part.name, tuple(main.copies[node] for node in part.inputs))
        for place, node in enumerate(part.outputs):
            if single:
                main.copies[node] = call
            else:
                main.copies[node] = main.graph.call_function(operator.getitem, (call, place))
                main.copies[node].meta = node.meta.copy()
    main.graph.output(map_arg(output.args[0], main.copies.__getitem__), output.type)
    made = GraphModuleCls(root, main.graph)
    return (made, paths) if return_fqn_mapping else made

