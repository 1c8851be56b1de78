"""functorch.einops."""
from mindtorch._functorch.einops.rearrange import rearrange

__all__ = ["rearrange"]
