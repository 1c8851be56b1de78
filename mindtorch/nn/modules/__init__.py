"""torch.nn.modules: the layers."""
from mindtorch.nn.modules.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from mindtorch.nn.modules.module import Module

__all__ = ["Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
