"""torch.distributed.tensor.debug: which collectives a model calls, and where."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.tensor.debug._comm_mode import CommDebugMode

__all__ = ["CommDebugMode"]

__getattr__ = module_getattr(__name__)
