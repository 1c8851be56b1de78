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
from mindtorch._submodules import module_getattr

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "grad", "grad_and_value",
           "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx", "vjp",
           "vmap"]

__getattr__ = module_getattr(__name__)
