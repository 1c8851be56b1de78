"""torch.backends: the libraries that torch may be built with, and their switches.

mindtorch has none of these libraries. Switches can be set and read, so that programs which do so run; they change
nothing.
"""
from mindtorch.backends import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
           "opt_einsum", "quantized", "xnnpack"]

fp32_precision = "none"         # how exactly products of float32 are computed, for all libraries
