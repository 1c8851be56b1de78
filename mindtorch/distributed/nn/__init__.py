"""torch.distributed.nn: collectives that can be differentiated."""
# ruff: noqa: F401, F403 - the names are here for programs
from __future__ import annotations

from mindtorch._submodules import module_getattr
from mindtorch.distributed._world import group
from mindtorch.distributed.nn import functional
from mindtorch.distributed.nn.functional import *
from mindtorch.distributed.nn.functional import Function, ReduceOp

__getattr__ = module_getattr(__name__)
