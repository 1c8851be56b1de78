"""Enumerations of the profilers, with torch's members and numbers."""
from enum import Enum, IntEnum

DeviceType = IntEnum("DeviceType", [
    "CPU", "CUDA", "MKLDNN", "OPENGL", "OPENCL", "IDEEP", "HIP", "FPGA", "MAIA", "XLA", "Vulkan", "Metal", "XPU", "MPS",
    "Meta", "HPU", "VE", "Lazy", "IPU", "MTIA", "PrivateUse1"], start=0)
DeviceType.__doc__ = """The kinds of devices by torch's numbers; PrivateUse1 is the NPU.

Example:
    >>> torch.profiler.DeviceType.CPU.name
    'CPU'
"""


class ProfilerActivity(IntEnum):
    """The activities of a profile: CPU, the operators that Python calls; PrivateUse1, launches on the NPU.

    Example:
        >>> torch.profiler.ProfilerActivity.CPU.name
        'CPU'
    """
    CPU = 0
    XPU = 1
    MTIA = 4
    CUDA = 2
    HPU = 3
    PrivateUse1 = 5

    __str__ = Enum.__str__


class ProfilerAction(Enum):
    """The action of a profile in a step.

    Example:
        >>> torch.profiler.ProfilerAction.RECORD.name
        'RECORD'
    """
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4
