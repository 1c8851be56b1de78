"""torch.backends.mps: a device that is not there."""

__all__ = ["is_available", "is_built"]


def is_built():
    """False."""
    return False


def is_available():
    """False."""
    return False
