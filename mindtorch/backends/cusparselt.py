"""torch.backends.cusparselt: a library for CUDA, which mindtorch does not use."""

__all__ = ["is_available", "version"]


def is_available():
    """False.

    Example:
        >>> torch.backends.cusparselt.is_available()
        False
    """
    return False


def version():
    """None.

    Example:
        >>> torch.backends.cusparselt.version() is None
        True
    """
