"""torch._functorch.deprecated: the functions of functorch, which warn and do what those of torch.func do."""
import functools
import warnings

from mindtorch import func as _func
from mindtorch._functorch import make_functional as _make_functional

__all__ = ["combine_state_for_ensemble", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "make_functional", "make_functional_with_buffers", "vjp", "vmap"]


def _deprecated(function, successor):
    """The function, with a FutureWarning that names its successor."""
    @functools.wraps(function)
    def warned(*args, **kwargs):
        warnings.warn(f"We've integrated functorch into PyTorch. As the final step of the integration, "
                      f"`functorch.{function.__name__}` is deprecated as of PyTorch 2.0 and will be deleted in a "
                      f"future version of PyTorch >= 2.3. Please use `{successor}` instead; see the PyTorch 2.0 "
                      "release notes and/or the `torch.func` migration guide for more details "
                      "https://pytorch.org/docs/main/func.migrating.html", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    return warned


vmap = _deprecated(_func.vmap, "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian = (
    _deprecated(each, f"torch.func.{each.__name__}") for each in (
        _func.grad, _func.grad_and_value, _func.vjp, _func.jvp, _func.jacrev, _func.jacfwd, _func.hessian))
make_functional = _deprecated(_make_functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(_make_functional.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(_make_functional.combine_state_for_ensemble, "torch.func.stack_module_state")
