"""Operators by name: their schemas, kernels and calls. torch.ops and torch.library are its public side."""
from mindtorch._submodules import module_getattr

__getattr__ = module_getattr(__name__)
