"""Autocast on the NPU: what torch.autocast asks of it, and torch_npu's short forms of torch's functions."""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mindtorch._core.operators import autocast as _autocast
from mindtorch._core.tensor.dtype import bfloat16, float16, float32
from mindtorch.npu.device import is_bf16_supported

if TYPE_CHECKING:
    from mindtorch import dtype

__all__ = ["get_amp_supported_dtype", "get_autocast_dtype", "is_autocast_enabled", "set_autocast_dtype",
           "set_autocast_enabled"]


@cache
def _supported():
    """Asked once: every region looks at it."""
    return (float16, bfloat16, float32) if is_bf16_supported() else (float16, float32)


def get_amp_supported_dtype() -> Any:
    """The dtypes that autocast may compute in.

    Example:
        >>> torch.float16 in torch.npu.get_amp_supported_dtype()
        True
    """
    return list(_supported())


def is_autocast_enabled() -> Any:
    """torch.is_autocast_enabled("npu").

    Example:
        >>> with torch.autocast("npu"):
        ...     torch.npu.is_autocast_enabled()
        True
    """
    return _autocast.is_autocast_enabled("npu")


def set_autocast_enabled(enable: Any) -> None:
    """torch.set_autocast_enabled("npu", enable).

    Arguments:
        enable: whether autocast is on

    Example:
        >>> torch.npu.set_autocast_enabled(True)
        >>> torch.npu.is_autocast_enabled()
        True
        >>> torch.npu.set_autocast_enabled(False)
    """
    _autocast.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> Any:
    """torch.get_autocast_dtype("npu").

    Example:
        >>> torch.npu.get_autocast_dtype()
        torch.float16
    """
    return _autocast.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: dtype) -> None:
    """torch.set_autocast_dtype("npu", dtype).

    Arguments:
        dtype: the dtype that autocast casts to on the NPU

    Example:
        >>> torch.npu.set_autocast_dtype(torch.bfloat16)
        >>> torch.npu.get_autocast_dtype()
        torch.bfloat16
        >>> torch.npu.set_autocast_dtype(torch.float16)
    """
    _autocast.set_autocast_dtype("npu", dtype)
