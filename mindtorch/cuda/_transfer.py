"""Lets a CUDA program run on the NPU: `python -m mindtorch --cuda-is-npu`, `import torch_npu.contrib.transfer_to_npu`.

The device "cuda" is then read as "npu", so torch.device("cuda").type is "npu", and the names of torch.cuda are those of
torch.npu. A warning says so, once for the device and once for torch.cuda.
"""
import importlib
import sys
import warnings

import mindtorch
from mindtorch import cuda, npu
from mindtorch._compat.absent_device import raising
from mindtorch._core.tensor.tensor import is_cuda_read_as_npu, read_cuda_as_npu
from mindtorch.cuda import nvtx
from mindtorch.npu.device import _mode

_OTHER_NAMES = {"CUDAGraph": "NPUGraph", "CUDAPluggableAllocator": "NPUPluggableAllocator"}
# Functions of torch.cuda without a counterpart in torch.npu: what they say then is not that CUDA is absent.
_WITHOUT_COUNTERPART = ("caching_allocator_enable", "check_error", "clock_rate", "cudart", "current_solver_handle",
                        "device_memory_used", "get_stream_from_external", "list_gpu_processes", "memory_usage",
                        "power_draw", "temperature")
_warned = set()
_SUBMODULES = ("graphs", "memory", "random", "streams")


def transfer_to_npu():
    """Makes "cuda", torch.cuda, Tensor.cuda and is_cuda mean the NPU, in this process and its spawned children.

    A second call changes nothing, and there is no way back.
    """
    if is_cuda_read_as_npu():
        return
    read_cuda_as_npu(lambda: _warn_once("the device 'cuda'", "'npu'"))
    for name in [name for name in vars(cuda) if not name.startswith("__") and name != "amp"]:  # amp names "cuda" itself
        if hasattr(npu, _OTHER_NAMES.get(name, name)):
            delattr(cuda, name)
    for name in _WITHOUT_COUNTERPART:
        setattr(cuda, name, raising("torch.cuda", name, NotImplementedError(
            f"torch.cuda.{name} has no counterpart on the NPU, which cuda means in this process")))
    cuda.__getattr__, cuda._absent = _of_npu, cuda.__getattr__
    for name in ("mark", "range_end", "range_pop", "range_push", "range_start"):
        setattr(nvtx, name, getattr(npu.mstx, name))
    mindtorch.Tensor.is_cuda = property(lambda tensor: tensor.is_npu, doc="Whether the tensor is on an NPU.")
    for name in _SUBMODULES:
        if f"mindtorch.cuda.{name}" in sys.modules:
            importlib.reload(sys.modules[f"mindtorch.cuda.{name}"])


def _of_npu(name):
    """torch.cuda.<name>, the first time: torch.npu has it, or else torch.cuda without CUDA."""
    own = _OTHER_NAMES.get(name, name)
    if name.startswith("__") or not hasattr(npu, own):
        return cuda._absent(name)
    _warn_once("torch.cuda", "torch.npu")
    if (name in ("is_available", "device_count") and "NPU" not in _warned and _mode() == "auto"
            and not npu.is_available()):
        _warned.add("NPU")
        print("mindtorch: torch.cuda.is_available() is False, as no NPU is in use: with MINDTORCH_NPU=sim it is True, "
              "and the program runs on the simulated one", file=sys.stderr)
    found = getattr(npu, own)
    if own in vars(npu):             # else it is another one each time: default_generators
        setattr(cuda, name, found)
    return found


def _warn_once(theirs, ours):
    if theirs not in _warned:
        _warned.add(theirs)
        frame, level = sys._getframe(1), 2
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("mindtorch."):
            frame, level = frame.f_back, level + 1
        warnings.warn(f"{theirs} means {ours} in this process", stacklevel=level)      # at the program's line
