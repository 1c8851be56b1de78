"""torch.backends.mps: a device that is not there."""

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built():
    """False."""
    return False


def is_available():
    """False."""
    return False


def is_macos_or_newer(major, minor):
    """False: Ascend has no driver for macOS."""
    return False


def is_macos13_or_newer(minor=0):
    """False: Ascend has no driver for macOS."""
    return False
