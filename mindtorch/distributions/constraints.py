"""torch.distributions.constraints: sets of values, that parameters and samples have to lie in."""
from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import mindtorch

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
           "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
           "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
           "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite",
           "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack",
           "symmetric", "unit_interval"]


class Constraint:
    """A set of values; the last `event_dim` dimensions of a tensor are one value.

    Example:
        >>> issubclass(torch.distributions.constraints.interval, torch.distributions.constraints.Constraint)
        True
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """A bool per value: whether it lies in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class _Dependent(Constraint):
    """A set that depends on other parameters, which an instance's property names.

    Arguments:
        is_discrete: whether the values are whole numbers
        event_dim: how many of the last dimensions form an event

    Example:
        >>> torch.distributions.constraints.is_dependent(torch.distributions.constraints.dependent)
        True
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        """The same with more known about it."""
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint. On the class it is a dependent constraint.

    Arguments:
        fn: the method that gives the constraint
        is_discrete: whether the values are whole numbers
        event_dim: how many of the last dimensions form an event

    Example:
        >>> constraints = torch.distributions.constraints
        >>> class AtMost:
        ...     def __init__(self, most):
        ...         self.most = most
        ...     @constraints.dependent_property
        ...     def support(self):
        ...         return constraints.less_than(self.most)
        >>> constraints.is_dependent(AtMost.support), AtMost(2.0).support
        (True, LessThan(upper_bound=2.0))
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: bool | None = NotImplemented,
                 event_dim: int | None = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Values of several dimensions, each of whose elements lies in a set.

    Arguments:
        base_constraint: the constraint
        reinterpreted_batch_ndims: how many dimensions of the batch become part of an event

    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: Any) -> None:
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError("reinterpreted_batch_ndims must be a non-negative int, got "
                                 f"{reinterpreted_batch_ndims!r}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return found.reshape((*found.shape[:found.dim() - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Joined(Constraint):
    """Values whose parts along a dimension lie in a set each."""

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        if not all(isinstance(constraint, Constraint) for constraint in self.cseq):
            raise AssertionError("all elements of cseq must be Constraint objects")
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(constraint.event_dim for constraint in self.cseq)

    def check(self, value: Any) -> Any:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dims")
        found = [constraint.check(part) for constraint, part in zip(self.cseq, self._split_(value), strict=True)]
        return self._join_(found, self.dim)


class _Cat(_Joined):
    """Sections of `lengths`, 1 each by default.

    Arguments:
        cseq: the constraints, in order
        dim: the dimension
        lengths: how many elements belong to each; None means one

    Example:
        >>> constraints = torch.distributions.constraints
        >>> both = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
        >>> both.check(torch.tensor([-1.0, -1.0, 2.0]))
        tensor([False,  True,  True])
    """

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"Expected lengths to have length {len(self.cseq)}, got {len(self.lengths)}")

    def _split_(self, value):
        for begin, length in zip(accumulate(self.lengths, initial=0), self.lengths, strict=False):
            yield value.narrow(self.dim, begin, length)

    _join_ = staticmethod(mindtorch.cat)


class _Stack(_Joined):
    """Parts without that dimension.

    Arguments:
        cseq: the constraints, in order
        dim: the dimension

    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.stack([constraints.positive, constraints.real]).check(torch.tensor([-1.0, -1.0]))
        tensor([False,  True])
    """

    def _split_(self, value):
        if value.shape[self.dim] != len(self.cseq):
            raise AssertionError(f"Expected value.size({self.dim}) to be {len(self.cseq)}, got {value.shape[self.dim]}")
        return value.unbind(self.dim)

    _join_ = staticmethod(mindtorch.stack)


class MixtureSameFamilyConstraint(Constraint):
    """Values that lie in the set of each component of a mixture; the components are its last batch dimension.

    Arguments:
        base_constraint: the constraint

    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(torch.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """Values between bounds; a subclass says which of the two, how repr names them, and whether they belong to it."""

    _names_ = ("lower_bound", "upper_bound")
    _low_, _high_ = "ge", "le"            # the comparisons of a value with its bounds

    def __init__(self, *bounds: Any, **named: Any) -> None:
        named |= zip(self._names_, bounds, strict=False)
        if len(bounds) > len(self._names_) or named.keys() != set(self._names_):
            raise TypeError(f"{self.__class__.__name__} takes {' and '.join(self._names_)}, got "
                            f"{[*bounds[len(self._names_):], *named]}")
        vars(self).update(named)
        super().__init__()

    def check(self, value: Any) -> Any:
        held = [getattr(mindtorch, comparison)(value, getattr(self, name)) for name, comparison in
                (("lower_bound", self._low_), ("upper_bound", self._high_)) if name in self._names_]
        return held[0] if len(held) == 1 else held[0] & held[1]

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._names_)})"


class _IntegerInterval(_Bounded):
    """Whole numbers between two bounds, which belong to it.

    Arguments:
        *bounds: the bounds, as the constraint has them
        **named: the bounds by name

    Example:
        >>> torch.distributions.constraints.integer_interval(0, 3).check(torch.tensor([1.0, 1.5, 4.0]))
        tensor([ True, False, False])
    """

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


class _IntegerGreaterThan(_IntegerInterval):
    _names_ = ("lower_bound",)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value       # only NaN is not


class _GreaterThan(_Bounded):
    """Numbers above a bound.

    Arguments:
        *bounds: the bounds, as the constraint has them
        **named: the bounds by name

    Example:
        >>> torch.distributions.constraints.greater_than(0).check(torch.tensor([0.0, 1.0]))
        tensor([False,  True])
    """

    _names_, _low_ = ("lower_bound",), "gt"


class _GreaterThanEq(_Bounded):
    """Numbers that are not below a bound.

    Arguments:
        *bounds: the bounds, as the constraint has them
        **named: the bounds by name

    Example:
        >>> torch.distributions.constraints.greater_than_eq(0).check(torch.tensor([0.0, 1.0]))
        tensor([True, True])
    """

    _names_ = ("lower_bound",)


class _LessThan(_Bounded):
    """Numbers below a bound.

    Arguments:
        *bounds: the bounds, as the constraint has them
        **named: the bounds by name

    Example:
        >>> torch.distributions.constraints.less_than(1).check(torch.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    _names_, _high_ = ("upper_bound",), "lt"


class _Interval(_Bounded):
    """Numbers between two bounds, which belong to it.

    Arguments:
        *bounds: the bounds, as the constraint has them
        **named: the bounds by name

    Example:
        >>> torch.distributions.constraints.interval(0, 1).check(torch.tensor([0.0, 1.0, 2.0]))
        tensor([ True,  True, False])
    """


class _HalfOpenInterval(_Bounded):
    """Numbers from a bound on, up to another that does not belong to it.

    Arguments:
        *bounds: the bounds, as the constraint has them
        **named: the bounds by name

    Example:
        >>> torch.distributions.constraints.half_open_interval(0, 1).check(torch.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    _high_ = "lt"


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts, none negative, with a sum of at most `upper_bound`.

    Arguments:
        upper_bound: the sum of the counts

    Example:
        >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([[1, 2], [2, 2]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        tolerance = mindtorch.finfo(value.dtype).eps * value.size(-1) * 10
        unit = (value.square().sum(-1) - 1).abs().le(tolerance).all(-1)
        return _LowerCholesky().check(value) & unit


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return mindtorch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=mindtorch.bool,
                              device=value.device)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        return square & mindtorch.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1) if square.all() else square


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        # On the host, which waits for the answer anyway: aclnnLinalgCholesky does not tell which matrices it refuses.
        return mindtorch.linalg.cholesky_ex(value.detach().cpu()).info.eq(0)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return mindtorch.linalg.eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


def is_dependent(constraint: Any) -> Any:
    """Whether the set depends on other parameters, so that only an instance knows it.

    Arguments:
        constraint: a constraint, such as constraints.positive

    Example:
        >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
        True
    """
    return isinstance(constraint, _Dependent)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
cat = _Cat
stack = _Stack
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
