"""torch.autograd.grad_mode: see _core/grad_mode.py."""
from __future__ import annotations

from typing import Any

from mindtorch._core.grad_mode import _Mode, enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


# --- switches that change nothing here -------------------------------------------------------------------------------

class _Switch(_Mode):
    """Kept for who asks: a mode from now on, and until the end of the block where it is used with `with`."""

    state = False

    def __init__(self, mode: Any) -> None:
        self.mode, self.before = mode, type(self).state
        type(self).state = mode

    def clone(self) -> Any:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        type(self).state = self.before


class set_multithreading_enabled(_Switch):
    """Whether backward may use several threads. It always runs in the thread that asks for it.

    Arguments:
        mode: whether it is on

    Example:
        >>> with torch.autograd.set_multithreading_enabled(False):
        ...     print(torch.autograd.is_multithreading_enabled())
        False
    """

    state = True


class _force_original_view_tracking(_Switch):
    """Whether a view of what was written to gets its history by the views that made it; here it is a strided view."""


def is_multithreading_enabled() -> Any:
    """The value that set_multithreading_enabled has set.

    Example:
        >>> torch.autograd.is_multithreading_enabled()
        True
    """
    return set_multithreading_enabled.state


def is_view_replay_enabled() -> Any:
    """The value that _force_original_view_tracking has set.

    Example:
        >>> torch.autograd.is_view_replay_enabled()
        False
    """
    return _force_original_view_tracking.state
