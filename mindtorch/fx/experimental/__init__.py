"""torch.fx.experimental: queries about tracing below operators, which mindtorch does not do."""
from mindtorch._submodules import module_getattr

__getattr__ = module_getattr(__name__)
