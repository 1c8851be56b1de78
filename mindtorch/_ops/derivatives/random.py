"""Derivatives of random numbers by the parameters of their distribution."""
from mindtorch._ops.operators import ops


def standard_gamma_backward(grad, self, result):
    return grad * ops._standard_gamma_grad(self, result)


def dirichlet_backward(grad, self, result):
    """Each number grows with its own concentration, and the others make room for it in proportion."""
    total = self.sum(-1, keepdim=True).expand(self.shape)
    return ops._dirichlet_grad(result, self, total) * (grad - (result * grad).sum(-1, keepdim=True))
