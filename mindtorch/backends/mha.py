"""torch.backends.mha: the switch of a path through attention layers that does not differ here."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """What set_fastpath_enabled was given; True at first.

    Example:
        >>> torch.backends.mha.get_fastpath_enabled()
        True
    """
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Kept for who asks.

    Arguments:
        value: whether it may be used

    Example:
        >>> torch.backends.mha.set_fastpath_enabled(False)
        >>> torch.backends.mha.get_fastpath_enabled()
        False
        >>> torch.backends.mha.set_fastpath_enabled(True)
    """
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
