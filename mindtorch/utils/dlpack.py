"""torch.utils.dlpack: tensors of other libraries, and for them, without a copy."""
from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from mindtorch._core.python.conversion import dlpack_device, from_capsule
from mindtorch._core.tensor.tensor import device as Device

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The kinds of devices that DLPack numbers.

    Example:
        >>> torch.utils.dlpack.DLDeviceType(torch.ones(1).__dlpack_device__()[0]).name
        'kDLCPU'
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def _capsule_of(obj, options):
    """obj.__dlpack__(), without the options that it does not know."""
    for known in (options, {"copy": options["copy"]} if "copy" in options else {}, {}):
        try:
            return obj.__dlpack__(**known)
        except TypeError:
            if not known:
                raise
    return None


def _is_on(device, *described):
    device, found = Device(device), dlpack_device(*described)
    return device.type == found.type and device.index in (None, found.index)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The tensor of another library (or a DLPack capsule), sharing its memory. BufferError where that is impossible.

    Arguments:
        ext_tensor: an object with `__dlpack__`, or a capsule
        device: the device of the result; None means that of the object
        copy: True copies always, False never, None if need be

    Example:
        >>> import numpy
        >>> array = numpy.arange(3)
        >>> torch.from_dlpack(array)
        tensor([0, 1, 2])
    """
    if hasattr(ext_tensor, "__dlpack__"):
        options = {"max_version": (1, 0)} | ({} if copy is None else {"copy": copy})
        if device is not None and not _is_on(device, *ext_tensor.__dlpack_device__()):
            if copy is False:
                raise ValueError(f"cannot move a tensor to {device} without copying")
            options.pop("copy", None)
        made = from_capsule(_capsule_of(ext_tensor, options))
    else:
        made = from_capsule(ext_tensor)
        made = made.clone() if copy else made
    return made if device is None else made.to(device)


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule that shares the tensor's memory; it can be consumed once.

    Arguments:
        tensor: the tensor

    Example:
        >>> capsule = torch.utils.dlpack.to_dlpack(torch.ones(2))
        >>> torch.utils.dlpack.from_dlpack(capsule)
        tensor([1., 1.])
    """
    return tensor.__dlpack__()
