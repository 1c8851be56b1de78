"""torch.nn.modules: the layers."""
from mindtorch.nn.modules.module import Module

__all__ = ["Module"]
