"""torch._vmap_internals: the vmap of before torch.func, which old programs call."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mindtorch.func import vmap as _func_vmap

__all__ = ["vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
          allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """torch.func.vmap."""
    return _func_vmap(func, in_dims, out_dims)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """torch.func.vmap, with a warning."""
    warnings.warn("Please use torch.vmap instead of torch._vmap_internals.vmap.", FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)
