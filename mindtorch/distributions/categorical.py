from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import ProbsLogitsMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import normalized

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Categorical"]


class Categorical(ProbsLogitsMixin, Distribution):
    """The classes 0 to K - 1, with `probs` (..., K), which are normalized, or with `logits`, logarithms of such.

    Example:
        >>> classes = torch.distributions.Categorical(torch.tensor([1.0, 1.0, 2.0]))
        >>> classes.probs, classes.entropy()
        (tensor([0.2500, 0.2500, 0.5000]), tensor(1.0397))
        >>> classes.log_prob(torch.tensor(2))
        tensor(-0.6931)
        >>> classes.sample((5,)).dtype
        torch.int64
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        name, value = self._either_of_(probs, logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        vars(self)[name] = normalized(value) if probs is None else value / value.sum(-1, keepdim=True)
        self._num_events = value.size(-1)
        super().__init__(value.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Categorical, _instance)
        new._num_events = self._num_events
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return mindtorch.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = mindtorch.Size(sample_shape)
        with mindtorch.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            return mindtorch.multinomial(rows, sample_shape.numel(), True).T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, logs = mindtorch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = mindtorch.clamp(self.logits, min=mindtorch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated_(mindtorch.arange(self._num_events, dtype=mindtorch.long, device=self._param.device),
                                 expand)
