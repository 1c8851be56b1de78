"""torch.fx.passes: passes over graphs."""
from mindtorch._refusals.modules import module_getattr

__getattr__ = module_getattr(__name__)
