"""torch.fx.passes.infra.pass_base: the class of passes over graphs."""
from __future__ import annotations

import abc
from typing import NamedTuple

from mindtorch.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass returns: the module, and whether the pass has changed it.

    Arguments:
        graph_module: the module
        modified: whether the pass has changed it
    """

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass, which is called with a GraphModule: `requires`, then `call`, then `ensures`.

    Example:
        >>> passes = torch.fx.passes.infra.pass_base
        >>> class SinToCos(passes.PassBase):
        ...     def call(self, graph_module):
        ...         found = [node for node in graph_module.graph.nodes if node.target is torch.sin]
        ...         for node in found:
        ...             node.target = torch.cos
        ...         return passes.PassResult(graph_module, bool(found))
        >>> SinToCos()(torch.fx.symbolic_trace(lambda x: torch.sin(x))).modified
        True
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """What the pass does."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 - a pass may have no conditions
        """Raises where the module is none that the pass can work on."""

    def ensures(self, graph_module: GraphModule) -> None:   # noqa: B027
        """Raises where the module is not as the pass should leave it."""
