"""torch.cuda.nvtx: marks for a profiler that is not there; where CUDA means the NPU, those of torch.npu.mstx."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from mindtorch._compat.absent_device import raising

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_REFUSED = RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")

mark = raising("mark", _REFUSED)
range_end = raising("range_end", _REFUSED)
range_pop = raising("range_pop", _REFUSED)
range_push = raising("range_push", _REFUSED)
range_start = raising("range_start", _REFUSED)


@contextmanager
def range(msg: Any, *args: Any, **kwargs: Any) -> Any:
    """A context or decorator that marks what runs in it. RuntimeError on entry, unless CUDA means the NPU."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
