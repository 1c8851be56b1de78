from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.distributions.distribution import Distribution

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with a density exp(<t(x), n> - F(n) + k(x)), for natural parameters n and a log normalizer F.

    A subclass has `_natural_params`, a tuple n of tensors, `_log_normalizer(*n)`, and `_mean_carrier_measure`, the
    expectation of k(x). From these come an entropy, and the divergence of two of the same class.

    Example:
        >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
        True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def _natural_gradients_(self):
        """The natural parameters, cut off from what they were computed of, F of them, and its gradients."""
        params = [each.detach().requires_grad_() for each in self._natural_params]
        with mindtorch.enable_grad():
            normalizer = self._log_normalizer(*params)
            return params, normalizer, mindtorch.autograd.grad(normalizer.sum(), params, create_graph=True)

    def entropy(self) -> Tensor:
        """F(n) - <n, F'(n)> less the expectation of k(x)."""
        carrier = self._mean_carrier_measure
        params, normalizer, gradients = self._natural_gradients_()
        found = normalizer - carrier
        for param, gradient in zip(params, gradients, strict=True):
            found = found - (param * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return found
