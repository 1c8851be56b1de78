"""torch.distributed._tensor: the older name of torch.distributed.tensor."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.tensor import (
    DeviceMesh,
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    init_device_mesh,
    ones,
    rand,
    randn,
    zeros,
)

__all__ = ["DTensor", "DeviceMesh", "Partial", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
           "full", "init_device_mesh", "ones", "rand", "randn", "zeros"]

__getattr__ = module_getattr(__name__)
