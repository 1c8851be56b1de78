"""torch.distributed.checkpoint.stateful: objects that save asks for their state, and to which load gives it."""
from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """Anything with these two methods: a module, an optimizer, a class of the program.

    Arguments:
        *args: not read: it is a protocol
        **kwargs: not read: it is a protocol

    Example:
        >>> isinstance(torch.nn.Linear(2, 1), dist.checkpoint.stateful.Stateful)
        True
    """

    def state_dict(self) -> dict[str, Any]:
        """The state. load asks for it as well, and writes into its tensors."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state that was read."""


StatefulT = TypeVar("StatefulT", bound=Stateful)
