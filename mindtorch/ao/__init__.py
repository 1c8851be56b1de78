"""torch.ao: only the places that models mark for quantization."""
from mindtorch._submodules import module_getattr

__getattr__ = module_getattr(__name__)
