"""torch.autograd.forward_ad: what programs ask of tensors, none of which is dual (autograd.functional.jvp is there)."""
from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["UnpackedDualTensor", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, or None where it has none."""

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: Any = None) -> Any:
    """`tensor`, without a tangent."""
    return UnpackedDualTensor(tensor, None)
