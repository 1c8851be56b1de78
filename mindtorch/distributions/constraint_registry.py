"""torch.distributions.constraint_registry: transforms of real numbers to the sets that constraints describe."""
from __future__ import annotations

from typing import Any

from mindtorch.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makes a transform for a constraint by the function that is registered for its class.

    Example:
        >>> to_positive = torch.distributions.transform_to(torch.distributions.constraints.positive)
        >>> to_positive(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        >>> torch.distributions.biject_to(torch.distributions.constraints.unit_interval)(torch.zeros(1))
        tensor([0.5000])
    """

    def __init__(self) -> None:
        self._registry = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Has factory(constraint) make transforms for constraints of that class, or of that object's; a decorator."""
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()            # one to one, with a Jacobian
transform_to = ConstraintRegistry()         # onto the set, not necessarily one to one


def _both(constraint):
    def register(factory):
        return transform_to.register(constraint, biject_to.register(constraint, factory))
    return register


@_both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _bijection_of_vectors(constraint):
    return transforms.IndependentTransform(biject_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_to_vectors(constraint):
    return transforms.IndependentTransform(transform_to(constraint.base_constraint),
                                           constraint.reinterpreted_batch_ndims)


@_both(constraints.greater_than)
@_both(constraints.greater_than_eq)
def _transform_above(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(),
                                        transforms.AffineTransform(constraint.lower_bound, 1)])


@_both(constraints.less_than)
def _below(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(),
                                        transforms.AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval)
@_both(constraints.half_open_interval)
def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(),
                                        transforms.AffineTransform(loc=low, scale=high - low)])


@biject_to.register(constraints.simplex)
def _broken_stick(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _softmax(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


def _of_parts(registry):
    """Registers the transforms of joined constraints, made of those that the registry has for the parts."""
    @registry.register(constraints.cat)
    def cat(constraint):
        return transforms.CatTransform([registry(each) for each in constraint.cseq], constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint):
        return transforms.StackTransform([registry(each) for each in constraint.cseq], constraint.dim)


_of_parts(biject_to)
_of_parts(transform_to)
