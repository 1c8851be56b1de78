"""torch.fx.subgraph_rewriter: exchanges parts of a graph that do what a pattern says."""
from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mindtorch.fx._symbolic_trace import symbolic_trace
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule, _assign_attr, _get_attr
from mindtorch.fx.node import Node
from mindtorch.fx.passes.utils.matcher_utils import SubgraphMatcher
from mindtorch.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place that was exchanged: the pattern's node that was found first, and the graph's node for each of its.

    Arguments:
        anchor: the node at which the pattern ends
        nodes_map: node of the pattern -> node of the graph
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A Match, and the nodes that were put in its place.

    Arguments:
        anchor: the node at which the pattern ends
        nodes_map: node of the pattern -> node of the graph
        replacements: the nodes that have been put there

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> relu, tanh = lambda x: torch.relu(x), lambda x: torch.tanh(x)
        >>> (done,) = torch.fx.subgraph_rewriter.replace_pattern_with_filters(module, relu, tanh)
        >>> done.replacements
        [tanh]
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule
                    ) -> list[Match]:
    """Exchanges what does as `pattern` does for what `replacement` does; the places, in the order of the graph.

    Pattern and replacement are functions, modules or graphs with the same number of inputs. Inputs of the pattern
    stand for anything; what it computes and does not return must not be used elsewhere. Of matches that overlap the
    first is exchanged.

    Arguments:
        gm: the GraphModule
        pattern: a function or graph to look for
        replacement: a function or graph with the same inputs

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> places = torch.fx.replace_pattern(module, lambda x: torch.relu(x), lambda x: torch.abs(x))
        >>> len(places), module(torch.tensor([-2.0]))
        (1, tensor([3.]))
    """
    return [Match(each.anchor, each.nodes_map) for each in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern: Callable | Graph | GraphModule,
                                 replacement: Callable | Graph | GraphModule | None = None,
                                 match_filters: list[Callable] | None = None, ignore_literals: bool = False,
                                 replacement_callback: Callable | None = None, node_name_match: str = ""
                                 ) -> list[ReplacedPatterns]:
    """replace_pattern for the matches that all filters accept.

    match_filters: functions of an InternalMatch, the graph and the pattern's graph; replacement_callback: one that
    returns the graph of the replacement. ignore_literals: numbers and strings in the pattern fit any.

    Arguments:
        gm: the GraphModule
        pattern: a function or graph to look for
        replacement: a function or graph with the same inputs
        match_filters: functions of a match and two graphs: whether it counts
        ignore_literals: whether constants may be different
        replacement_callback: a function that makes the replacement of a match
        node_name_match: an expression that names of nodes have to fit

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> relu, tanh = lambda x: torch.relu(x), lambda x: torch.tanh(x)
        >>> _ = torch.fx.subgraph_rewriter.replace_pattern_with_filters(module, relu, tanh)
        >>> print(module.code.strip())
        def forward(self, x):
            tanh = torch.tanh(x);  x = None
            add = tanh + 1;  tanh = None
            return add
    """
    graph, pattern_graph = gm.graph, _graph(pattern)
    if replacement_callback is None and replacement is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    fixed = None if replacement is None or replacement_callback is not None else _graph(replacement)
    matches = SubgraphMatcher(pattern_graph, match_output=False, match_placeholder=False,
                              remove_overlapping_matches=True, ignore_literals=ignore_literals
                              ).match(graph, node_name_match)
    accepted = [match for match in matches
                if all(accepts(match, graph, pattern_graph) for accepts in match_filters or ())]
    exchanged, done = {}, []
    for match in accepted:
        chosen = replacement_callback(match, graph, pattern_graph) if fixed is None else fixed
        done.append(_exchange(graph, pattern_graph, chosen, match, exchanged))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return done


def _graph(source):
    if isinstance(source, Graph):
        return source
    return (source if isinstance(source, GraphModule) else symbolic_trace(source)).graph


def _exchange(graph, pattern, replacement, match, exchanged):
    """Puts a copy of the replacement in the place of a match; `exchanged`: what earlier ones put for which node."""
    inputs = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(f"The replacement has {len(inputs)} inputs, the pattern {len(match.placeholder_nodes)}")
    known = {}
    for place, matched in zip(inputs, match.placeholder_nodes, strict=True):
        given = matched
        while isinstance(given, Node) and given in exchanged:
            given = exchanged[given]
        known[place] = given
        if isinstance(given, Node) and place.type is not None:
            given.type = place.type
    with graph.inserting_before(_place(graph, match)):
        result = graph.graph_copy(replacement, known)
    returned = (result,) if isinstance(result, Node) else tuple(result or ())
    if len(returned) != len(match.returning_nodes):
        raise AssertionError(f"The replacement returns {len(returned)} values, the pattern "
                             f"{len(match.returning_nodes)}")
    for old, new in zip(match.returning_nodes, returned, strict=True):
        old.replace_all_uses_with(new)
        exchanged[old] = new
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, [
        node for place, node in known.items() if place.op != "placeholder" and isinstance(node, Node)])


def _place(graph, match):
    """The node before which the replacement goes: the first user of what it returns, behind its inputs."""
    users = {user for node in match.returning_nodes for user in node.users}
    order = {node: place for place, node in enumerate(graph.nodes)}
    behind = [node.next for node in (match.returning_nodes if not users else ())]
    return min([*users, *behind], key=lambda node: order.get(node, len(order)))


def _take_attributes(gm, replacement):
    """Gives the module what the replacement's nodes name, and takes away submodules that no node names."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if _attribute(gm, node.target) is not None:
            continue
        found = _attribute(replacement, node.target)
        if found is None:
            raise RuntimeError(f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                               f"{node.target}, but the referenced attribute does not exist in the replacement "
                               "GraphModule")
        _assign_attr(copy.deepcopy(found), gm, node.target)
    gm.graph.lint()


def _attribute(module, path):
    try:
        return _get_attr(module, path)
    except AttributeError:
        return None
