"""torch.distributed.algorithms."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = module_getattr(__name__)
