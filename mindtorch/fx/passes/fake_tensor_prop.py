"""torch.fx.passes.fake_tensor_prop: the shapes, dtypes and devices of a graph's values, without computing them."""
from __future__ import annotations

from typing import Any

from mindtorch import Tensor
from mindtorch._subclasses.fake_tensor import FakeTensorMode
from mindtorch.fx.graph_module import GraphModule
from mindtorch.fx.interpreter import Interpreter
from mindtorch.fx.node import Node, map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """FakeTensorProp(module).propagate(*args) runs a graph on fake tensors, and keeps each node's in `meta["val"]`.

    Parameters must be fake tensors of the same mode, or the mode allow others (`allow_non_fake_inputs`).

    Arguments:
        module: the module
        mode: the FakeTensorMode; None makes one

    Example:
        >>> from mindtorch.fx.passes.fake_tensor_prop import FakeTensorProp
        >>> module = torch.fx.symbolic_trace(lambda x: x.reshape(-1))
        >>> FakeTensorProp(module).propagate(torch.ones(2, 3))
        FakeTensor(..., size=(6,))
        >>> [tuple(node.meta["val"].shape) for node in module.graph.nodes]
        [(2, 3), (6,), (6,)]
    """

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """The value of a node, which is kept in its `meta`."""
        result = super().run_node(n)
        n.meta["val"] = map_aggregate(result, lambda value: value.detach() if isinstance(value, Tensor) else value)
        return result

    def propagate(self, *args: Any) -> Any:
        """The value of the graph for these arguments, whose tensors become fake ones."""
        return self.propagate_dont_convert_inputs(*(
            self._mode.from_tensor(each) if isinstance(each, Tensor) else each for each in args))

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """The value of the graph for arguments whose tensors are fake ones of this mode already."""
        with self._mode:
            return self.run(*args)
