"""torch.distributed.tensor: tensors in parts on the ranks of a mesh."""
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch.distributed.tensor._api import (
    DTensor,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    randn,
    zeros,
)
from mindtorch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
           "distribute_tensor", "empty", "full", "init_device_mesh", "ones", "rand", "randn", "zeros"]

_complete_docstrings(globals(), "distributed.tensor")
__getattr__ = module_getattr(__name__)
