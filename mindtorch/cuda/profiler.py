"""torch.cuda.profiler: marks for NVIDIA's profiler."""
from contextlib import nullcontext

from mindtorch._compat.absent_device import raising
from mindtorch.cuda import _REFUSED

__all__ = ["profile", "start", "stop"]

start, stop = raising("torch.cuda.profiler", "start", _REFUSED), raising("torch.cuda.profiler", "stop", _REFUSED)


def profile():
    """A context in which nothing is different.

    Example:
        >>> with torch.cuda.profiler.profile():
        ...     torch.ones(1) + 1
        tensor([2.])
    """
    return nullcontext()
