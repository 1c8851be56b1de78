"""torch.backends.cuda: the switches of attention, and of libraries that are not there."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from mindtorch._compat import settings as _settings
from mindtorch.nn._sdp_backends import CHOICE, SDPBackend

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
           "flash_sdp_enabled", "is_built", "is_flash_attention_available", "math_sdp_enabled", "matmul",
           "mem_efficient_sdp_enabled", "sdp_kernel"]


class _Matmul:
    """Switches for matrix products. allow_tf32 is another view of torch.get_float32_matmul_precision()."""

    _SWITCHES = {"allow_fp16_reduced_precision_reduction": True, "allow_bf16_reduced_precision_reduction": True,
                 "allow_fp16_accumulation": False, "fp32_precision": "none"}

    def __init__(self) -> None:
        vars(self).update(self._SWITCHES)

    @property
    def allow_tf32(self) -> Any:
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: Any) -> None:
        _settings.set_float32_matmul_precision("high" if value else "highest")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "allow_tf32" and name not in self._SWITCHES:
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)


matmul = _Matmul()


def is_built() -> Any:
    """False.

    Example:
        >>> torch.backends.cuda.is_built()
        False
    """
    return False


def is_flash_attention_available() -> bool:
    """False.

    Example:
        >>> torch.backends.cuda.is_flash_attention_available()
        False
    """
    return False


def _switch(kind, backend):
    def enable(enabled):
        CHOICE.enable(backend, enabled)

    def enabled():
        return backend in CHOICE.allowed
    enable.__name__, enabled.__name__ = f"enable_{kind}_sdp", f"{kind}_sdp_enabled"
    example = (f"Example:\n    >>> torch.backends.cuda.enable_{kind}_sdp(False)\n"
               f"    >>> torch.backends.cuda.{kind}_sdp_enabled()\n    False\n"
               f"    >>> torch.backends.cuda.enable_{kind}_sdp(True)\n")
    enable.__doc__ = ('Whether attention may be computed so; of all ways here are only "math" and "flash".\n\n'
                      f"Arguments:\n    enabled: whether it may be used\n\n{example}")
    enabled.__doc__ = f"Whether attention may be computed so; True at first.\n\n{example}"
    return enable, enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash", SDPBackend.FLASH_ATTENTION)
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient", SDPBackend.EFFICIENT_ATTENTION)
enable_math_sdp, math_sdp_enabled = _switch("math", SDPBackend.MATH)
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn", SDPBackend.CUDNN_ATTENTION)


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Any:
    """Sets the four switches for the length of a `with` block.

    Arguments:
        enable_flash: whether the flash kernel may be used
        enable_math: whether the composite of operators may be used
        enable_mem_efficient: whether the kernel that saves memory may be used
        enable_cudnn: whether the kernel of cuDNN may be used

    Example:
        >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
        ...     torch.backends.cuda.flash_sdp_enabled()
        False
    """
    before = CHOICE.set(CHOICE.allowed, CHOICE.order)
    enable_flash_sdp(enable_flash)
    enable_math_sdp(enable_math)
    enable_mem_efficient_sdp(enable_mem_efficient)
    enable_cudnn_sdp(enable_cudnn)
    try:
        yield {}
    finally:
        CHOICE.set(*before)


class SDPAParams:
    """The operands of scaled_dot_product_attention, for the questions below."""

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa):
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def can_use_flash_attention(params, debug=False):
    """False: these are kernels for CUDA."""
    return False


can_use_cudnn_attention = can_use_efficient_attention = can_use_flash_attention


def preferred_linalg_library(backend=None):
    """None: there is no library to choose."""
