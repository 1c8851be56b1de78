"""torch.jit._recursive: the types of compiled modules, of which there are none."""
from __future__ import annotations

__all__ = ["ConcreteTypeStore"]


class ConcreteTypeStore:
    """The types that TorchScript has made for modules: programs that free them assign a new store."""

    def __init__(self) -> None:
        self.type_store = {}
        self.methods_compiled = set()


concrete_type_store = ConcreteTypeStore()
