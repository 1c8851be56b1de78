"""torch.distributed.algorithms."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = refused_names(__name__)
