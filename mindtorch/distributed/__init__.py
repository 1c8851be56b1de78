"""torch.distributed, which mindtorch does not have: programs that ask first run on one device."""
from mindtorch._compat.absent_device import abstract_class
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed import device_mesh
from mindtorch.distributed.device_mesh import DeviceMesh

__all__ = ["DeviceMesh", "ProcessGroup", "device_mesh", "is_available", "is_backend_available", "is_gloo_available",
           "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
           "is_xccl_available"]

ProcessGroup = abstract_class(
    "torch.distributed", "ProcessGroup", "mindtorch has no torch.distributed: a program is one process")


def is_available():
    """False."""
    return False


def is_initialized():
    """False: there is no process group."""
    return False


def is_backend_available(backend):
    """False: there is no backend."""
    return False


def is_torchelastic_launched():
    """False: torchrun has not started this process."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_available
__getattr__ = refused_names(__name__)
