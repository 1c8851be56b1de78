"""torch.backends: the libraries that torch may be built with, and their switches.

mindtorch has none of these libraries. Switches can be set and read, so that programs which do so run; they change
nothing.
"""
from __future__ import annotations

from typing import Any

from mindtorch.backends import (
    _switches,
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)
from mindtorch.backends._switches import disable_global_flags, flags_frozen

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "disable_global_flags", "flags", "flags_frozen", "kleidiai", "mha",
           "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized", "set_flags", "xnnpack"]

# How exactly products of float32 are computed, for all libraries.
_set, _flags = _switches.install(__name__, fp32_precision="none")


def set_flags(_fp32_precision: Any = "none") -> Any:
    """Sets the switch of all libraries; the value before, in a tuple.

    Example:
        >>> torch.backends.set_flags("none")
        ('none',)
    """
    return _set(fp32_precision=_fp32_precision)


def flags(fp32_precision: Any = "none") -> Any:
    """Sets the switch of all libraries for the length of a `with` block.

    Arguments:
        fp32_precision: how exactly products of float32 are computed; changes nothing

    Example:
        >>> with torch.backends.flags(fp32_precision="ieee"):
        ...     torch.backends.fp32_precision
        'ieee'
    """
    return _flags(fp32_precision=fp32_precision)
