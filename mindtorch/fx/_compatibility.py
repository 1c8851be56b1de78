"""torch.fx._compatibility: marks of how stable an interface is."""

__all__ = ["compatibility"]


def compatibility(is_backward_compatible):
    """A decorator that changes nothing."""
    return lambda function: function
