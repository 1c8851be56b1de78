"""torch.distributed.tensor.debug: which collectives a model calls, and where."""
from mindtorch.distributed.tensor.debug._comm_mode import CommDebugMode

__all__ = ["CommDebugMode"]
