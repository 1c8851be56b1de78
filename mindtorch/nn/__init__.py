"""torch.nn: so far the functions."""
from mindtorch.nn import functional

__all__ = ["functional"]
