"""torch.backends.mps: a device that is not there."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """False.

    Example:
        >>> torch.backends.mps.is_built()
        False
    """
    return False


def is_available() -> bool:
    """False.

    Example:
        >>> torch.backends.mps.is_available()
        False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: Ascend has no driver for macOS.

    Arguments:
        major: not read
        minor: not read

    Example:
        >>> torch.backends.mps.is_macos_or_newer(13, 0)
        False
    """
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: Ascend has no driver for macOS.

    Arguments:
        minor: not read

    Example:
        >>> torch.backends.mps.is_macos13_or_newer()
        False
    """
    return False
