"""torch._functorch.eager_transforms: derivatives of functions, where older programs import them from."""
from mindtorch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from mindtorch.func._derivatives import _chosen

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args, argnums, as_tuple=True):
    """The arguments of these numbers, as a tuple; one by itself where as_tuple is false."""
    chosen = _chosen(argnums, args)
    return (chosen,) if as_tuple and isinstance(argnums, int) else chosen
