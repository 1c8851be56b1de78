"""torch.backends.kleidiai: a library for ARM processors, which mindtorch does not use."""

__all__ = ["is_available"]


def is_available():
    """False.

    Example:
        >>> torch.backends.kleidiai.is_available()
        False
    """
    return False
