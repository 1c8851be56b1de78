"""torch._dynamo.eval_frame: the class of compiled modules."""
from mindtorch.nn import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A module that torch.compile made. It makes none here: nothing is an instance, and none can be created."""

    def __init__(self, mod, dynamo_ctx=None):
        raise RuntimeError("mindtorch has no compiler: torch.compile returns modules unchanged")


def is_dynamo_supported():
    """False: there is no compiler."""
    return False
