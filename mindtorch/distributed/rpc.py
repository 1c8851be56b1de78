"""torch.distributed.rpc, as a torch has it that was built without: it says that it is not available."""

from mindtorch._refusals.modules import refused_names

__path__ = []       # modules below it come from the table of refusals

__all__ = ["is_available"]


def is_available():
    """False: processes do not call each other."""
    return False


__getattr__ = refused_names(__name__)
