"""torch.distributed.autograd as in a torch that was built without it: is_available() is False."""

from __future__ import annotations

from mindtorch._submodules import module_getattr

__path__ = []       # modules below it come from the table of refusals

__all__ = ["is_available"]


def is_available() -> bool:
    """False.

    Example:
        >>> dist.autograd.is_available()
        False
    """
    return False


__getattr__ = module_getattr(__name__)
