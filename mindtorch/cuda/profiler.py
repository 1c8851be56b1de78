"""torch.cuda.profiler: marks for NVIDIA's profiler."""
from contextlib import nullcontext

from mindtorch._compat.absent_device import raising
from mindtorch.cuda import _REFUSED

__all__ = ["profile", "start", "stop"]

start, stop = raising("start", _REFUSED), raising("stop", _REFUSED)


def profile():
    """A context in which nothing is different."""
    return nullcontext()
