"""torch.nn.attention: how scaled_dot_product_attention computes, and masks that it knows."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from mindtorch._submodules import module_getattr
from mindtorch.nn._sdp_backends import CHOICE, SDPBackend

__all__ = ["SDPBackend", "sdpa_kernel"]

_SHOWN = (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
          SDPBackend.OVERRIDEABLE)


def _cur_sdpa_kernel_backends(with_priority=False):
    """The backends that are allowed; with `with_priority` in the order in which they are tried."""
    return [each for each in (CHOICE.order if with_priority else _SHOWN) if each in CHOICE.allowed]


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Any:
    """Allow only these backends, one or a list, within the context; with `set_priority`, in this order.

    An attention that none of them can compute is a RuntimeError.

    Arguments:
        backends: a SDPBackend, or several
        set_priority: whether their order counts

    Example:
        >>> q = k = v = torch.ones(1, 1, 2, 4)
        >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        ...     torch.nn.functional.scaled_dot_product_attention(q, k, v).shape
        torch.Size([1, 1, 2, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    wanted = [each for each in ([backends] if isinstance(backends, SDPBackend) else backends) if each in _SHOWN]
    rest = [each for each in CHOICE.order if each not in wanted]
    before = CHOICE.set(wanted, [*dict.fromkeys(wanted), *rest] if set_priority else CHOICE.order)
    try:
        yield {}
    finally:
        CHOICE.set(*before)


__getattr__ = module_getattr(__name__)
