"""torch.distributed, which mindtorch does not have: programs that ask first run on one device."""
from __future__ import annotations

from mindtorch._compat.absent_device import abstract_class
from mindtorch.distributed import device_mesh

__all__ = ["ProcessGroup", "device_mesh", "is_available", "is_initialized"]

ProcessGroup = abstract_class(
    "torch.distributed", "ProcessGroup", "mindtorch has no torch.distributed: a program is one process")


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False: there is no process group."""
    return False
