"""torch._prims_common.wrappers: decorators of PyTorch's operators in Python, which mindtorch has none of."""
from typing import Any

from mindtorch._submodules import module_getattr


def _maybe_remove_out_wrapper(fn: Any) -> Any:
    """The function itself: none is wrapped."""
    return fn


__getattr__ = module_getattr("mindtorch._prims_common.wrappers")
