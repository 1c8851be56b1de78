"""torch.fx.passes.dialect.common.cse_pass: what a graph computes twice is computed once."""
from __future__ import annotations

from typing import Any

import mindtorch
from mindtorch.fx.graph import Graph
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.node import Node, map_aggregate
from mindtorch.fx.passes.infra.pass_base import PassBase, PassResult
from mindtorch.utils._pytree import tree_flatten

__all__ = ["CSEPass", "get_CSE_banned_ops"]

# Operators whose calls differ though their arguments are the same: memory that is not filled, and random numbers.
_BANNED = ("dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu "
           "rand_like rand randint randn randperm randn_like randint_like bernoulli_ random_ uniform_ normal_ cauchy_ "
           "exponential_ geometric_ log_normal_ empty empty_like empty_strided empty_permuted new_empty "
           "new_empty_strided")


def get_CSE_banned_ops() -> set[Any]:
    """The operators whose calls are never taken for one another.

    Example:
        >>> torch.ops.aten.dropout.default in torch.fx.passes.dialect.common.cse_pass.get_CSE_banned_ops()
        False
    """
    found = {getattr(mindtorch.ops.aten, name, None) for name in _BANNED.split()}
    return found - {None}


class CSEPass(PassBase):
    """Replaces a call by an earlier one of the same function with the same arguments. banned_ops: those that stay.

    Arguments:
        banned_ops: operators that are left as they are

    Example:
        >>> module = torch.fx.symbolic_trace(lambda x: torch.sin(x) + torch.sin(x))
        >>> result = torch.fx.passes.dialect.common.cse_pass.CSEPass()(module)
        >>> [node.name for node in result.graph_module.graph.nodes]
        ['x', 'sin', 'add', 'output']
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        super().__init__()
        self.banned_ops = banned_ops or set()

    def call(self, graph_module: GraphModule) -> PassResult:
        """A module with a graph of its own, and whether that is shorter."""
        graph, known, copies, modified = Graph(), {}, {}, False
        for node in graph_module.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr") or self._is_banned(node.target):
                copies[node] = graph.node_copy(node, copies.__getitem__)
                continue
            key = self._key_(node, copies)
            if key in known:
                copies[node] = known[key]
                modified = True
                continue
            copies[node] = graph.node_copy(node, copies.__getitem__)
            if key is not None:
                known[key] = copies[node]
        return PassResult(GraphModule(graph_module, graph), modified)

    def _is_banned(self, target):
        return target in self.banned_ops or getattr(target, "overloadpacket", None) in self.banned_ops

    @staticmethod
    def _key_(node, copies):
        """What equal calls share: 1, 1.0 and True are not the same. None where an argument has no hash."""
        def identified(value):
            return copies[value] if isinstance(value, Node) else value
        leaves, spec = tree_flatten((map_aggregate(node.args, identified), map_aggregate(node.kwargs, identified)))
        key = node.op, node.target, tuple((type(leaf), leaf) for leaf in leaves), str(spec)
        try:
            hash(key)
        except TypeError:
            return None
        return key
