"""Causal masks for queries and keys of different number."""
from __future__ import annotations

import enum
import warnings
from typing import Any

from mindtorch import ones
from mindtorch._core.python.torch_function import _disabled_torch_function_impl
from mindtorch._tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """The alignment of the diagonal: the first query with the first key, or the last with the last.

    Example:
        >>> from mindtorch.nn.attention.bias import CausalVariant
        >>> CausalVariant.LOWER_RIGHT.name
        'LOWER_RIGHT'
    """

    UPPER_LEFT = enum.auto()
    LOWER_RIGHT = enum.auto()


class CausalBias(Tensor):
    """The mask (seq_len_q, seq_len_kv) that is True where a query may look, as scaled_dot_product_attention takes it:
    there it follows the query to its device.

    Arguments:
        variant: a CausalVariant: where the diagonal begins
        seq_len_q: the number of queries
        seq_len_kv: the number of keys

    Example:
        >>> from mindtorch.nn.attention.bias import causal_upper_left
        >>> q, k = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 3, 4)
        >>> torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=causal_upper_left(2, 3)).shape
        torch.Size([1, 1, 2, 4])
    """

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, variant: Any, seq_len_q: Any, seq_len_kv: Any) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        made = _mask(variant, seq_len_q, seq_len_kv, None)
        made.__class__ = cls
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                          stacklevel=2)

    def _materialize(self, device=None):
        """A plain tensor of the same elements."""
        return _mask(self.variant, self.seq_len_q, self.seq_len_kv, device)

    def _as_arguments_(self, query, is_causal):
        """attn_mask and is_causal that say the same."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        if self.variant == CausalVariant.UPPER_LEFT or self.seq_len_q == self.seq_len_kv:
            return None, True
        return self._materialize(query.device), False

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def _mask(variant, queries, keys, device):
    first = keys - queries if variant == CausalVariant.LOWER_RIGHT else 0
    return ones((queries, keys), device=device).tril(first).bool()


def _two(name, size):
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return size


def causal_upper_left(*size: Any) -> CausalBias:
    """The mask (queries, keys) in which the first query may look at the first key.

    Arguments:
        *size: the number of queries and of keys

    Example:
        >>> from mindtorch.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3)._materialize()
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two("causal_upper_left", size))


def causal_lower_right(*size: Any) -> CausalBias:
    """The mask (queries, keys) in which the last query may look at the last key.

    Arguments:
        *size: the number of queries and of keys

    Example:
        >>> from mindtorch.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3)._materialize()
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two("causal_lower_right", size))
