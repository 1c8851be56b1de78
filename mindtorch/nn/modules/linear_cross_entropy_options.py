"""How torch may cut linear_cross_entropy into parts."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mindtorch import bfloat16, float16, float32, float64

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("accurate", "balanced", "compact", "auto")
_DTYPES = (None, float16, bfloat16, float32, float64)


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """Wishes about memory and precision. They are checked and kept; here the logits are always computed whole.

    Arguments:
        allow_retain_graph: whether backward may run twice
        batch_chunk_size: the rows of a part; None means any number
        chunking_method: "auto", "aspect_ratio" or "aspect_ratio:4"; None means no parts
        acc_policy: "accurate", "balanced", "compact" or "auto"
        acc_dtype: the dtype in which parts are added up; None means any

    Example:
        >>> options = nn.LinearCrossEntropyOptions(batch_chunk_size=128)
        >>> nn.LinearCrossEntropyLoss(3, 2, options=options).options.batch_chunk_size
        128
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.chunking_method is not None:
            name, has_ratio, ratio = self.chunking_method.partition(":")
            wrong_ratio = has_ratio and (name != "aspect_ratio" or not ratio.isdecimal() or not int(ratio))
            if name not in ("auto", "aspect_ratio") or wrong_ratio:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype not in _DTYPES:
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                             f"torch.float64}}, got {self.acc_dtype}. Pass acc_dtype=None to let the op pick "
                             "automatically.")
