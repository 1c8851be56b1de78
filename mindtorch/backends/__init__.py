"""torch.backends: the libraries that torch may be built with, and their switches.

mindtorch has none of these libraries. Switches can be set and read, so that programs which do so run; they change
nothing.
"""
from mindtorch.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
