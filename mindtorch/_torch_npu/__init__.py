"""torch_npu for programs that import it beside torch: `torch_npu.npu` is torch.npu. The alias knows it by that name."""
from mindtorch import npu
from mindtorch.version import __version__ as __version__

__all__ = ["npu"]


def __getattr__(name):
    raise AttributeError(f"module 'torch_npu' has no attribute '{name}': mindtorch does not have it")
