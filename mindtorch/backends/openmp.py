"""torch.backends.openmp: a library that is not there."""

__all__ = ["is_available"]


def is_available():
    """False."""
    return False
