"""Channels in another order."""
from __future__ import annotations

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(FunctionLayer):
    """Channels of `groups` groups in turn: the first of each group, then the second of each.

    Example:
        >>> nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    groups: int

    _function_ = staticmethod(F.channel_shuffle)

    def __init__(self, groups: int) -> None:
        self._store_(locals())
