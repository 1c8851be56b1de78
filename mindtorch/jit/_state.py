"""torch.jit._state: what TorchScript remembers, which is nothing here."""
from __future__ import annotations

__all__ = []


def _clear_class_state():
    """Forgets the classes that TorchScript has compiled, of which there are none."""
