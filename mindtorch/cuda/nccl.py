"""torch.cuda.nccl: CUDA's library of collectives, which is not there."""
from mindtorch._compat.absent_device import raising

__all__ = ["is_available", "version"]

version = raising("version", RuntimeError("NCCL is not there: mindtorch was built without CUDA"))


def is_available(tensors):
    """False."""
    return False
