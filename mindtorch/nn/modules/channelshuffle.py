"""Channels in another order."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Channels of `groups` groups in turn: the first of each group, then the second of each."""

    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return described(self, "groups")
