"""torch.fx.passes.infra: what passes over graphs are made of."""
from mindtorch._submodules import module_getattr

__getattr__ = module_getattr(__name__)
