"""torch.cuda.nccl: CUDA's library of collectives, which is not there."""
from mindtorch._compat.absent_device import raising

__all__ = ["is_available", "version"]

version = raising("torch.cuda.nccl", "version", RuntimeError("NCCL is not there: mindtorch was built without CUDA"))


def is_available(tensors):
    """False.

    Arguments:
        tensors: not read

    Example:
        >>> torch.cuda.nccl.is_available([])
        False
    """
    return False
