"""Distribution, what all probability distributions have in common."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.utils import broadcast_all, lazy_property

if TYPE_CHECKING:
    from mindtorch import Size, Tensor
    from mindtorch.distributions.constraints import Constraint
    from mindtorch.types import _size

__all__ = ["Distribution"]


class Distribution:
    """A batch of distributions, `batch_shape`, of values of the shape `event_shape`.

    `arg_constraints` names the parameters and their constraints. Parameters and values are checked unless validation
    is off; the check waits for the device.

    Example:
        >>> pair = torch.distributions.MultivariateNormal(torch.zeros(4, 2), torch.eye(2))
        >>> isinstance(pair, torch.distributions.Distribution), pair.batch_shape, pair.event_shape
        (True, torch.Size([4]), torch.Size([2]))
        >>> pair.sample((3,)).shape, pair.log_prob(torch.zeros(2)).shape
        (torch.Size([3, 4, 2]), torch.Size([4]))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check arguments by default."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Size = (), event_shape: Size = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = mindtorch.Size(batch_shape), mindtorch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters_()
        super().__init__()

    def _broadcast_(self, validate_args, **parameters):
        """Sets the parameters, broadcast, and the shapes of a distribution of single numbers."""
        vars(self).update(zip(parameters, broadcast_all(*parameters.values()), strict=True))
        Distribution.__init__(self, getattr(self, next(iter(parameters))).shape, validate_args=validate_args)

    def _either_of_(self, probs, logits, needed="Either `probs` or `logits` must be specified, but not both."):
        """Keeps the one of two parameters that is given, and returns it."""
        if (probs is None) == (logits is None):
            raise ValueError(needed)
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        vars(self)[name] = value
        return name, value

    def _check_parameters_(self):
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.",
                          stacklevel=4)
            return
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            valid = constraint.check(value)
            if not valid.all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{value}")

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        """The same distributions for a larger batch: parameters are expanded, not copied."""
        new = self._get_checked_instance(type(self), _instance)
        batch_shape = mindtorch.Size(batch_shape)
        for name, constraint in self.arg_constraints.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[value.dim() - constraint.event_dim:]))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """Parameter names and the constraints that they satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Constraint | None:
        """The constraint that values satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: _size = ()) -> Tensor:
        """Values of the shape sample_shape + batch_shape + event_shape, without gradients."""
        with mindtorch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        """Values through which gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: sample((n,))."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample(mindtorch.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or probability, of `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of cdf: the number that samples do not exceed with probability `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along the first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return mindtorch.exp(self.entropy())

    def _enumerated_(self, values, expand):
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _extended_shape(self, sample_shape=()):
        return mindtorch.Size(mindtorch.Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        """Raises unless `value` can be one of this distribution."""
        if not isinstance(value, mindtorch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{value.shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for one, other in zip(reversed(value.shape), reversed(expected), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                                 f"{expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize "
                          "the distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                             f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                             f"values:\n{value}")

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                                      "__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        named = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        listed = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in named)
        return f"{self.__class__.__name__}({listed})"
