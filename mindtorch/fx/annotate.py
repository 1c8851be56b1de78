"""torch.fx.annotate: types of values in traced code."""
from __future__ import annotations

from typing import Any

from mindtorch.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """`val`; where it is traced its node has the type, which generated code says. RuntimeError for a second type.

    Arguments:
        val: a value or Proxy
        type: the type

    Example:
        >>> torch.fx.annotate.annotate(3, int)
        3
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is "
                               f"{val.node.type} and new type is {type}. This could happen if you tried to annotate "
                               "a function parameter value (in which case you should use the type slot on the "
                               "function signature) or you called annotate on the same value twice")
        val.node.type = type
    return val
