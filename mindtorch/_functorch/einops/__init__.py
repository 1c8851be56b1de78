"""functorch.einops."""
from mindtorch._functorch.einops.rearrange import rearrange
from mindtorch._submodules import module_getattr

__all__ = ["rearrange"]
__getattr__ = module_getattr(__name__)
