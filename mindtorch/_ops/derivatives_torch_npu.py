"""Formulas of torch_npu's own operators."""
from mindtorch._ops.derivatives import ops


def add_layer_norm_backward(grads, x1, x2, rstd, mean, gamma):
    """Gradients of x1, x2, gamma and beta, from those of the norm and of the sum: either may have none."""
    dy = ops.zeros_like(x1) if grads[0] is None else grads[0]
    of_sum, of_gamma, of_beta = ops._npu_add_layer_norm_grad(dy, x1, x2, rstd, mean, gamma, grads[3])
    return of_sum, of_sum, of_gamma, of_beta
