"""torch.fx.passes.infra.partitioner: groups of the nodes that a backend supports, each to be one call."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node, _get_qualified_name
from mindtorch.fx.passes.operator_support import OperatorSupportBase
from mindtorch.fx.passes.utils.fuser_utils import _needs_itself, fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

_NO_WORK = {"torch.ops.aten.view", "_operator.getitem"}


class Partition:
    """A group of nodes: the keys of the dict `nodes`, whose values are their places, counted from the graph's end.

    Arguments:
        id: the number of the group
        nodes: its nodes
        node_orders: their places

    Example:
        >>> x, relu, output = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.nodes
        >>> partition = torch.fx.passes.infra.partitioner.Partition(0, [relu])
        >>> partition.size(), list(partition.nodes)
        (1, [relu])
    """

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None,
                 node_orders: Iterable[int] | None = None) -> None:
        self.id = id
        nodes = list(nodes or ())
        orders = [None] * len(nodes) if node_orders is None else list(node_orders)
        if len(nodes) != len(orders):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes: dict[Node, int | None] = dict(zip(nodes, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Remove a node."""
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Puts the nodes that a backend supports into as few groups as can each be one call.

    Arguments:
        graph_module: the module
        operator_support: says which nodes are supported
        allows_single_node_partition: whether a group of one call counts
        non_compute_ops: names of functions that do no work, which do not count as calls; "torch.ops.aten.view" and
            getitem do not either
        allowed_single_node_partition_ops: names of functions whose call alone is a group
        skip_horizontal_fusion: whether nodes are in one group only where one needs the other

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.sin(torch.relu(x) + 1))
        >>> support = torch.fx.passes.operator_support.create_op_support(
        ...     lambda submodules, node: node.name in ("relu", "add"))
        >>> partitioner = torch.fx.passes.infra.partitioner.CapabilityBasedPartitioner(module, support)
        >>> fused = partitioner.partition_and_fuse()
        >>> [node.name for node in fused.graph.nodes]
        ['x', 'fused_0', 'sin', 'output']
    """

    def __init__(self, graph_module: GraphModule, operator_support: OperatorSupportBase,
                 allows_single_node_partition: bool = False, non_compute_ops: Sequence[str] | None = None,
                 allowed_single_node_partition_ops: Sequence[str] | None = None,
                 skip_horizontal_fusion: bool = False) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def propose_partitions(self) -> list[Partition]:
        """The groups, from the graph's end to its beginning; what they are made of is not changed.

        Each node, from the last to the first, joins the groups behind it unless the result could not be one call:
        something outside would need it and be needed by it. What unpacks a node's tuple is in that node's group.
        """
        partitions: list[Partition] = []
        group_of: dict[Node, Partition] = {}
        submodules = dict(self.graph_module.named_modules())
        for order, node in enumerate(reversed(self.graph_module.graph.nodes)):
            if not self.operator_support.is_node_supported(submodules, node):
                continue
            own = group_of[node] = Partition(order, [node], [order])
            others = {group_of[user].id for user in node.users if user in group_of}
            partitions.append(own)
            for other in sorted(partitions[:-1], key=lambda partition: min(partition.nodes.values())):
                if (self.skip_horizontal_fusion and other.id not in others) or _would_cycle(own, other, group_of):
                    continue
                kept, gone = (other, own) if own.size() < other.size() else (own, other)
                kept.nodes.update(gone.nodes)
                group_of.update(dict.fromkeys(gone.nodes, kept))
                partitions.remove(gone)
                own = kept
        for partition in partitions:
            partition.nodes = dict(sorted(partition.nodes.items(), key=lambda item: -item[1]))
        self._unpack_where_packed(group_of)
        if not self.allows_single_node_partition:
            partitions = [each for each in partitions if self._count_calls(each) > 1]
        return [each for each in partitions if each.nodes]

    def _unpack_where_packed(self, group_of):
        """Moves the users of each node that is only unpacked to its group, or out of theirs where it has none."""
        moved = True
        while moved:
            moved = False
            for node in self.graph_module.graph.nodes:
                if not all(user.op == "call_function" and _get_qualified_name(user.target) == "_operator.getitem"
                           for user in node.users):
                    continue
                for user in node.users:
                    if group_of.get(user) is group_of.get(node):
                        continue
                    moved = True
                    if user in group_of:
                        group_of.pop(user).remove_node(user)
                    if node in group_of:
                        group_of[user] = group_of[node]
                        group_of[node].add_node(user)

    def _count_calls(self, partition):
        """The calls that do work; one that may stand alone counts as two."""
        names = [_get_qualified_name(node.target) for node in partition.nodes if node.op == "call_function"]
        return (sum(name not in _NO_WORK and name not in self.non_compute_ops for name in names)
                + sum(name in self.allowed_single_node_partition_ops for name in names))

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Have the module call a submodule for each group; returns the module, which is changed."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Remove calls of `non_compute_ops` with which a group begins or ends."""
        for partition in partitions:
            inside = partition.nodes
            found = True
            while found:
                found = [node for node in inside
                         if node.op == "call_function" and _get_qualified_name(node.target) in self.non_compute_ops
                         and (not any(each in inside for each in node.all_input_nodes)
                              or not any(each in inside for each in node.users))]
                for node in found:
                    partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Both: propose_partitions, then fuse_partitions."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _would_cycle(first, second, group_of):
    """Whether two groups cannot be one call, as something outside needs one and is needed by the other."""
    return _needs_itself(first.nodes.keys() | second.nodes.keys(),
                         lambda node: group_of[node].nodes if node in group_of else (node,))
