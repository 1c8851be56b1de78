"""torch.fx.passes.operator_support: which nodes a backend can run."""
from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from mindtorch import dtype as dtype_
from mindtorch.fx.node import Node
from mindtorch.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target
from mindtorch.nn import Module

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]


class OperatorSupportBase(abc.ABC):
    """What says of nodes whether they are supported: `is_node_supported(submodules, node)`.

    Example:
        >>> class Functions(torch.fx.passes.operator_support.OperatorSupportBase):
        ...     def is_node_supported(self, submodules, node):
        ...         return node.op == "call_function"
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> [Functions().is_node_supported({}, node) for node in module.graph.nodes]
        [False, True, False]
    """

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether the node is supported. submodules: those of its module, by their paths."""


class OperatorSupport(OperatorSupportBase):
    """Supports what a dict lists: the name of what a node calls, by get_node_target -> the dtypes of its inputs.

    None stands for all dtypes. Else there are a tuple, for the arguments by position, and a dict, for those by name:
    of each the dtypes that are supported, or in the tuple None. What calls nothing is supported.

    Arguments:
        support_dict: the dict; without one no call is supported

    Example:
        >>> support = torch.fx.passes.operator_support.OperatorSupport({"torch.relu": None})
        >>> module = torch.fx.symbolic_trace(lambda x: torch.sin(torch.relu(x)))
        >>> {node.name: support.is_node_supported({}, node) for node in module.graph.nodes}
        {'x': True, 'relu': True, 'sin': False, 'output': True}
    """

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether the node's call is listed, and its inputs have dtypes that are."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        if self._support_dict[target] is None:
            return True
        by_position, by_name = self._support_dict[target]
        given = [*zip(node.args, by_position, strict=False),
                 *((node.kwargs[name], dtypes) for name, dtypes in by_name.items() if name in node.kwargs)]
        return all(_dtype_of(value) in dtypes for value, dtypes in given
                   if isinstance(value, Node) and dtypes is not None)


def _dtype_of(node):
    """What ShapeProp found; where the result is no tensor, its type."""
    found = node.meta.get("tensor_meta")
    return found.dtype if hasattr(found, "dtype") else node.meta["type"]


class _Function(OperatorSupportBase):
    def __init__(self, function: Callable) -> None:
        self.function = function

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        return self.function(submodules, node)


def create_op_support(is_node_supported: Callable[[Mapping[str, Module], Node], bool]) -> OperatorSupportBase:
    """An OperatorSupportBase that asks a function.

    Arguments:
        is_node_supported: the function, of the submodules and a node

    Example:
        >>> support = torch.fx.passes.operator_support.create_op_support(lambda submodules, node: node.name == "x")
        >>> [support.is_node_supported({}, node) for node in torch.fx.symbolic_trace(lambda x: x).graph.nodes]
        [True, False]
    """
    return _Function(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what all of several support.

    Arguments:
        *op_support: the several

    Example:
        >>> support = torch.fx.passes.operator_support
        >>> none = support.chain(support.OperatorSupport({"torch.relu": None}), support.OperatorSupport())
        >>> _, relu, _ = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.nodes
        >>> none.is_node_supported({}, relu)
        False
    """
    return _Function(lambda submodules, node: all(each.is_node_supported(submodules, node) for each in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what one of several supports.

    Arguments:
        *op_support: the several

    Example:
        >>> support = torch.fx.passes.operator_support
        >>> one = support.any_chain(support.OperatorSupport({"torch.relu": None}), support.OperatorSupport())
        >>> _, relu, _ = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.nodes
        >>> one.is_node_supported({}, relu)
        True
    """
    return _Function(lambda submodules, node: any(each.is_node_supported(submodules, node) for each in op_support))


class OpSupports:
    """Makers of conditions, which `chain` puts together.

    Example:
        >>> support = torch.fx.passes.operator_support.OpSupports.decline_if_node_in_names({"relu"})
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> [support.is_node_supported({}, node) for node in module.graph.nodes]
        [True, False, True]
    """

    @classmethod
    def decline_if_input_dtype(cls, dtype: dtype_) -> OperatorSupportBase:
        """Supports nodes none of whose inputs has the dtype. ShapeProp has to have run."""
        return _Function(lambda submodules, node: all(_dtype_of(each) != dtype for each in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Supports nodes whose names are not in the set."""
        return _Function(lambda submodules, node: node.name not in disallow_set)
