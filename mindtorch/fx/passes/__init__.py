"""torch.fx.passes: passes over graphs."""
from mindtorch._submodules import module_getattr

__getattr__ = module_getattr(__name__)
