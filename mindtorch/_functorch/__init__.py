"""functorch, which became torch.func: its names, each of which says so when it is called.

`import functorch` means this package under the alias.
"""
from mindtorch._functorch.deprecated import (
    combine_state_for_ensemble,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from mindtorch._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from mindtorch._functorch.python_key import make_fx

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "grad", "grad_and_value",
           "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx", "vjp",
           "vmap"]


def __getattr__(name):
    if name == "config":
        from importlib import import_module
        return import_module("mindtorch._functorch.config")
    raise AttributeError(f"module 'torch._functorch' has no attribute '{name}'")
