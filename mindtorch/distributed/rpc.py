"""torch.distributed.rpc, as a torch has it that was built without: it says that it is not available."""

__all__ = ["is_available"]


def is_available():
    """False: processes do not call each other."""
    return False
