"""torch.version: the torch that mindtorch stands for, what it was built with, and mindtorch's own version."""
from mindtorch.torch_version import TorchVersion

__all__ = ["__version__", "cann", "cuda", "debug", "git_version", "hip", "mindtorch", "rocm", "xpu"]

mindtorch = "0.1.0"
__version__ = TorchVersion(f"2.13.0+mindtorch{mindtorch}")
debug = False
cann = None                 # the release of CANN that the wheel is built for; None: for none in particular
cuda = hip = rocm = xpu = None
git_version = "unknown"     # no commit of torch's repository
