"""torch.nn: layers, parameters, functions."""
from mindtorch.nn import functional, init, modules, parameter, utils
from mindtorch.nn.modules import *  # noqa: F403 - every module has its name in torch.nn too
from mindtorch.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__
