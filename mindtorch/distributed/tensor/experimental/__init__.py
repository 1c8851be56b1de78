"""torch.distributed.tensor.experimental: DTensors beside plain tensors and functions of plain tensors."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.tensor._dispatch import implicit_replication
from mindtorch.distributed.tensor.experimental._local_map import local_map
from mindtorch.distributed.tensor.experimental._register_sharding import register_sharding

__all__ = ["implicit_replication", "local_map", "register_sharding"]

__getattr__ = module_getattr(__name__)
