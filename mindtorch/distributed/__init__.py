"""torch.distributed, which mindtorch does not have: programs that ask first run on one device."""

__all__ = ["is_available", "is_initialized"]


def is_available():
    """False."""
    return False


def is_initialized():
    """False: there is no process group."""
    return False
