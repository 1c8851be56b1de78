"""torch.cuda.nvtx: marks for a profiler that is not there; where CUDA means the NPU, those of torch.npu.mstx."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from mindtorch._compat.absent_device import raising

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_REFUSED = RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")

mark = raising("torch.cuda.nvtx", "mark", _REFUSED)
range_end = raising("torch.cuda.nvtx", "range_end", _REFUSED)
range_pop = raising("torch.cuda.nvtx", "range_pop", _REFUSED)
range_push = raising("torch.cuda.nvtx", "range_push", _REFUSED)
range_start = raising("torch.cuda.nvtx", "range_start", _REFUSED)


@contextmanager
def range(msg: Any, *args: Any, **kwargs: Any) -> Any:
    """A context or decorator that marks what runs in it. RuntimeError on entry, unless CUDA means the NPU.

    Arguments:
        msg: the text
        *args: what `format` puts into the text
        **kwargs: the same by name

    Example:
        >>> with torch.cuda.nvtx.range("forward"):
        ...     torch.ones(1) + 1
        Traceback (most recent call last):
            ...
        RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
