"""torch._functorch.apis: transforms of functions, where older programs import them from."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.func import grad, grad_and_value, vmap
from mindtorch.utils import _pytree as pytree

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
               ) -> Callable:
    """vmap in `chunks` calls, each of a part of the batch: less memory at once."""
    def batched(*args, **kwargs):
        from mindtorch.func._vmap import _dims_of_inputs, _size_of_batch
        leaves = pytree.tree_leaves(args)
        size = _size_of_batch(_dims_of_inputs("chunk_vmap", in_dims, args, leaves), leaves)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=-(-size // chunks))(*args, **kwargs)
    return batched
