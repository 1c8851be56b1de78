"""torch.fx.passes.utils.matcher_utils: where a graph does what a small graph, the pattern, says."""
from __future__ import annotations

import copy
import inspect
import itertools
from dataclasses import dataclass, field
from typing import Any

from mindtorch import Tensor
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import _get_attr
from mindtorch.fx.node import Node
from mindtorch.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place where a pattern fits.

    anchors: the pattern's nodes at which the search began; nodes_map: the graph's node, or literal, for each node of
    the pattern; placeholder_nodes: what the pattern's inputs stand for, in their order; returning_nodes: the graph's
    nodes for those that the pattern returns; name_node_map: the same by the names that a pattern gives.

    Arguments:
        anchors: the nodes at which the pattern ends
        nodes_map: node of the pattern -> node of the graph
        placeholder_nodes: the nodes that are the inputs of the place
        returning_nodes: the nodes that are the results of the place
        name_node_map: names of the pattern -> nodes

    Example:
        >>> torch.fx.passes.utils.matcher_utils.InternalMatch(anchors=[]).nodes_map
        {}
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(self.anchors, dict(self.nodes_map), list(self.placeholder_nodes),
                             list(self.returning_nodes), dict(self.name_node_map))


class SubgraphMatcher:
    """Finds a pattern in graphs: `SubgraphMatcher(pattern).match(graph)`.

    match_output: the pattern's output must be the graph's; match_placeholder: its inputs stand for inputs alone.
    Without remove_overlapping_matches a node may be in several matches; with ignore_literals numbers and strings need
    not be equal. ValueError for a pattern without nodes, or with one that nothing uses.

    Arguments:
        pattern: the graph to look for
        match_output: whether the output of the graph counts as well
        match_placeholder: whether inputs of the pattern fit inputs alone
        remove_overlapping_matches: whether of places that overlap the first one counts
        ignore_literals: whether constants may be different

    Example:
        >>> pattern = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> len(torch.fx.passes.utils.matcher_utils.SubgraphMatcher(pattern.graph).match(module.graph))
        1
    """

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users and not node.is_impure():
                raise ValueError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [
            node for node in self.pattern_returning_nodes if len(node.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches, in the order of the graph. node_name_match: a part of the names that nodes must have."""
        candidates = [[node for node in graph.nodes if self._is_equal(anchor, node)] for anchor in self.pattern_anchors]
        matches = []
        for nodes in itertools.product(*candidates):
            match = InternalMatch(anchors=self.pattern_anchors)
            if all(self._match(anchor, node, match) for anchor, node in zip(self.pattern_anchors, nodes, strict=True)):
                self._describe(match)
                if self._is_contained(match) and self._is_named(match, node_name_match):
                    matches.append(match)
        return self._without_overlaps(matches) if self.remove_overlapping_matches else matches

    # --- one node -----------------------------------------------------------------------------------------------------

    def _is_equal(self, pattern, node):
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._is_equal_attribute(pattern, node)
        return pattern.target == node.target

    def _is_equal_attribute(self, pattern, node):
        """Both are tensors, or modules of one class, or equal values; by path where a graph has no module."""
        if pattern.graph.owning_module is None or node.graph.owning_module is None:
            return pattern.target == node.target
        first, second = (_get_attr(each.graph.owning_module, each.target) for each in (pattern, node))
        if isinstance(first, Tensor):
            return isinstance(second, Tensor)
        return type(first) is type(second)

    def _match(self, pattern, node, match):
        """Whether a node of the pattern, with all that leads to it, fits one of the graph; noted in the match."""
        known = match.nodes_map
        if pattern in known:
            return known[pattern] is node
        if any(node is each for each in known.values()) or not self._is_equal(pattern, node):
            return False
        before = dict(known)
        known[pattern] = node
        if pattern.op == "placeholder" or self._match_arguments(pattern, node, match):
            return True
        match.nodes_map = before
        return False

    def _match_arguments(self, pattern, node, match):
        return self._match_argument(*_arguments(pattern, node), match)

    def _match_argument(self, mine, theirs, match):
        if isinstance(mine, Node):
            if isinstance(theirs, Node):
                return self._match(mine, theirs, match)
            if mine.op != "placeholder" or self.match_placeholder:
                return False
            if mine in match.nodes_map:
                return match.nodes_map[mine] == theirs
            match.nodes_map[mine] = theirs              # a literal
            return True
        if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
            return len(mine) == len(theirs) and all(
                self._match_argument(each, other, match) for each, other in zip(mine, theirs, strict=True))
        if isinstance(mine, dict) and isinstance(theirs, dict):
            return mine.keys() == theirs.keys() and all(
                self._match_argument(each, theirs[key], match) for key, each in mine.items())
        if isinstance(theirs, Node):
            return False
        return self.ignore_literals or (type(mine) is type(theirs) and mine == theirs)

    # --- a whole match ------------------------------------------------------------------------------------------------

    def _describe(self, match):
        for pattern in self.pattern_placeholder_nodes:
            if pattern in match.nodes_map:
                match.placeholder_nodes.append(match.nodes_map[pattern])
        match.returning_nodes = [match.nodes_map[pattern] for pattern in self.pattern_returning_nodes
                                 if pattern in match.nodes_map]

    def _inner(self, match):
        """The graph's nodes that the pattern stands for, but for inputs and the output."""
        return {pattern: node for pattern, node in match.nodes_map.items() if pattern.op not in (
            "placeholder", "output")}

    def _is_contained(self, match):
        """Whether the match can be one call: nothing outside uses what the pattern does not return, or is between."""
        inner = self._inner(match)
        inside = {*inner.values(), *(node for pattern, node in match.nodes_map.items() if pattern.op == "output")}
        return (all(node in match.returning_nodes or inside.issuperset(node.users) for node in inner.values())
                and validate_partition(inner.values()))

    def _is_named(self, match, part):
        return not part or all(part in node.name for node in self._inner(match).values())

    def _without_overlaps(self, matches):
        taken, found = set(), []
        for match in matches:
            nodes = set(self._inner(match).values())
            if taken.isdisjoint(nodes):
                taken |= nodes
                found.append(copy.copy(match))
        return found


def _arguments(pattern, node):
    """The arguments of two nodes as lists. Where one is given by position and by name, all are by name."""
    names = list(dict.fromkeys((*pattern.kwargs, *node.kwargs)))
    if len(pattern.args) != len(node.args) and pattern.op == "call_function":
        bound = [_by_name(each) for each in (pattern, node)]
        if None not in bound:
            names = list(dict.fromkeys((*bound[0], *bound[1])))
            return tuple([each.get(name) for name in names] for each in bound)
    return tuple([*each.args, *(each.kwargs.get(name) for name in names)] for each in (pattern, node))


def _by_name(node):
    """{parameter: argument} of a call, defaults included; None where the function has no signature."""
    schema = getattr(node.target, "_schema", None)
    if schema is not None:                      # of an operator of torch.ops
        defaults = {each.name: each.default_value for each in schema.arguments if each.has_default_value()}
        return {**defaults, **dict(zip((each.name for each in schema.arguments), node.args, strict=False)),
                **node.kwargs}
    try:
        bound = inspect.signature(node.target).bind(*node.args, **node.kwargs)
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    return dict(bound.arguments)
