"""torch.distributed.algorithms._checkpoint: activation checkpointing of modules by wrappers."""
from mindtorch._submodules import module_getattr

__getattr__ = module_getattr(__name__)
