"""By which ways scaled_dot_product_attention may compute: what torch.nn.attention and torch.backends.cuda switch."""
from __future__ import annotations

import enum
from typing import Any


class SDPBackend(enum.Enum):
    """The ways that torch knows. Here MATH is one operator after the other, and FLASH_ATTENTION the fused one.

    Example:
        >>> torch.nn.attention.SDPBackend.MATH.name
        'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> Any:
        return self.value


SDPBackend.__module__ = "mindtorch.nn.attention"


class Choice:
    """The allowed backends and their order of preference, and the backend that follows from them."""

    def __init__(self) -> None:
        self.set(self.ORDER, self.ORDER)

    ORDER = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION,
             SDPBackend.OVERRIDEABLE)

    def set(self, allowed: Any, order: Any) -> Any:
        """Set the allowed backends and their order; returns the previous ones."""
        before = getattr(self, "allowed", None), getattr(self, "order", None)
        self.allowed, self.order = frozenset(allowed), tuple(order)
        self.math = SDPBackend.MATH in self.allowed
        self.fused = SDPBackend.FLASH_ATTENTION in self.allowed
        ours = [each for each in self.order if each in self.allowed and each in (
            SDPBackend.FLASH_ATTENTION, SDPBackend.MATH)]
        self.fused_first = ours[:1] == [SDPBackend.FLASH_ATTENTION]
        return before

    def enable(self, backend: Any, enabled: Any) -> None:
        """Allow or forbid one."""
        self.set(self.allowed | {backend} if enabled else self.allowed - {backend}, self.order)


CHOICE = Choice()
