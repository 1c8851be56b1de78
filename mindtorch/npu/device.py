"""Devices: their number, the current one, their properties."""
from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from mindtorch import npu
from mindtorch._npu.availability import device_count, is_available, is_initialized
from mindtorch._npu.toolkit import mode as _mode  # noqa: F401  (of MINDTORCH_NPU; torch.cuda's stand-in asks)
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.npu._properties import _NPUDeviceProperties, _NPUuuid

if TYPE_CHECKING:
    from mindtorch.types import Device

__all__ = ["can_device_access_peer", "current_device", "device", "device_count", "device_of", "disable_peer_access",
           "enable_peer_access", "get_device_capability", "get_device_name", "get_device_properties", "init",
           "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "set_device", "synchronize", "toolkit",
           "utilization"]


def _is_in_bad_fork():
    """Whether this process was forked after a device was started: then it cannot use devices."""
    runtime = sys.modules.get("mindtorch._npu.runtime")
    return runtime is not None and runtime.in_bad_fork()


def init() -> None:
    """Starts the current device. Its first use would also do so.

    Example:
        >>> torch.npu.init()
        >>> torch.npu.is_initialized()
        True
    """
    from mindtorch._npu import runtime, streams
    runtime.get_runtime(streams.current_device())


def _lazy_init():
    """The same as init()."""
    init()


def _lazy_call(callback):
    """Calls `callback` when the first device has been started, at once if one already has."""
    from mindtorch._npu import runtime
    runtime.call_when_started(callback)


def ipc_collect() -> None:
    """Starts the current device. There is nothing to collect: memory is not shared between processes.

    Example:
        >>> torch.npu.ipc_collect()
    """
    _lazy_init()


def toolkit() -> Any:
    """The CANN toolkit in use: `root`, `version`, `simulated`; readable as text.

    Example:
        >>> toolkit = torch.npu.toolkit()
        >>> isinstance(toolkit.version, str), isinstance(toolkit.simulated, bool)
        (True, True)
    """
    from mindtorch._npu import acl_loader
    acl_loader.ensure_acl()
    return acl_loader.toolkit()


def _existing_devices():
    """How many devices there are, also where only the simulator would provide them."""
    from mindtorch._npu import runtime
    return runtime.device_count()


def _get_device_index(device, optional=False, allow_cpu=False):
    """The index of `device`; see mindtorch._npu.index.get_device_index. torch.npu.device objects are accepted too."""
    from mindtorch._npu import streams
    from mindtorch._npu.index import get_device_index
    return get_device_index(device.idx if isinstance(device, npu.device) else device,
                            streams.current_device if optional else None, allow_cpu)


def _valid_index(device):
    """The index of a device that exists; AssertionError otherwise, as torch has it."""
    index = _get_device_index(device, optional=True)
    if not 0 <= index < _existing_devices():
        raise AssertionError("Invalid device id")
    return index


def current_device() -> int:
    """Index of the calling thread's current device.

    Example:
        >>> torch.npu.current_device()
        0
    """
    from mindtorch._npu import streams
    _lazy_init()
    return streams.current_device()


def set_device(device: Device) -> None:
    """Makes `device` the calling thread's current one. A negative index changes nothing.

    Example:
        >>> torch.npu.set_device(0)
        >>> torch.npu.current_device()
        0
    """
    index = _get_device_index(device, optional=True)
    if index >= 0:
        from mindtorch._npu import streams
        streams.set_current_device(index)


class device:
    """with torch.npu.device(1): ... makes npu:1 current inside. None and negative indexes change nothing.

    Example:
        >>> with torch.npu.device(0):
        ...     torch.ones(1, device="npu").device
        device(type='npu', index=0)
    """

    def __init__(self, device: Any) -> None:
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exception: Any) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)
        return False


class device_of(device):
    """with torch.npu.device_of(tensor): ... makes the tensor's device current inside, unless it is a CPU tensor.

    Arguments:
        obj: a tensor or storage

    Example:
        >>> x = torch.ones(1, device="npu:0")
        >>> with torch.npu.device_of(x):
        ...     torch.npu.current_device()
        0
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.device.type == "npu" else -1)


def synchronize(device: Device = None) -> None:
    """Waits for all work on `device` (None and negative indexes: the current one).

    Example:
        >>> x = torch.ones(1000, 1000, device="npu")
        >>> y = x @ x
        >>> torch.npu.synchronize()             # y has been computed
    """
    from mindtorch._npu import runtime, streams
    index = _get_device_index(device, optional=True)
    runtime.get_runtime(index if index >= 0 else streams.current_device()).synchronize_device()


def _get_device_name(device=None):
    from mindtorch._npu import acl
    _valid_index(device)
    name = acl.get_soc_name()
    if name is None:
        raise RuntimeError("NPU error: aclrtGetSocName returned no name")
    return name + (" (simulated)" if toolkit().simulated else "")


def get_device_name(device_name: Any = None) -> str:
    """The chip's name, as in "Ascend910B1"; of the simulator it ends in "(simulated)".

    Example:
        >>> torch.npu.get_device_name().startswith("Ascend")
        True
    """
    return npu._get_device_name(device_name)


def _get_device_capability(device=None):
    _valid_index(device)
    given = os.environ.get("TORCH_NPU_DEVICE_CAPABILITY")
    major, dot, minor = (given or "").partition(".")
    if dot and major.isdecimal() and minor.isdecimal():
        warnings.warn(f"the capability {given} is what TORCH_NPU_DEVICE_CAPABILITY says, no property of the device",
                      UserWarning, stacklevel=3)
        return int(major), int(minor)
    reason = f"TORCH_NPU_DEVICE_CAPABILITY={given} is not of the form 8.0" if given else "an NPU has none"
    warnings.warn(f"get_device_capability returns None: {reason}", UserWarning, stacklevel=3)
    return None


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """Warns and returns None: Ascend has no compute capability.

    The environment variable TORCH_NPU_DEVICE_CAPABILITY="8.0" makes it (8, 0), for programs that need a value.

    Example:
        >>> print(torch.npu.get_device_capability())
        None
    """
    return npu._get_device_capability(device)


def get_device_properties(device_name: Any = None) -> Any:
    """Properties: `name`, `total_memory` and `L2_cache_size` (bytes), `cube_core_num`, `vector_core_num`, `uuid`.

    What CUDA alone has is None, and `uuid` before CANN 8.5. AssertionError for a device that does not exist.

    Example:
        >>> properties = torch.npu.get_device_properties()
        >>> properties.name == torch.npu.get_device_name(), properties.total_memory > 0
        (True, True)
    """
    from mindtorch._npu import acl
    from mindtorch._npu.acl import check_status
    index = _valid_index(device_name)

    def capability(kind):
        value, ret = acl.get_device_capability(index, kind)
        check_status(ret, "aclGetDeviceCapability")
        return value
    raw, ret = acl.rt.device_get_uuid(index)
    check_status(ret, "aclrtDeviceGetUuid")
    return _NPUDeviceProperties(
        name=get_device_name(index), total_memory=npu.mem_get_info(index)[1], cube_core_num=capability(acl.CUBE_CORES),
        vector_core_num=capability(acl.VECTOR_CORES), L2_cache_size=capability(acl.L2_BYTES),
        uuid=raw and _NPUuuid(raw))


def utilization(device: Device = None) -> int:
    """The mean utilization of the cube and vector cores in per cent, as far as the driver measures it.

    Arguments:
        device: the NPU; None means the current one

    Example:
        >>> 0 <= torch.npu.utilization() <= 100
        True
    """
    from mindtorch._npu import acl
    from mindtorch._npu.acl import check_status
    index = _valid_index(device)
    _lazy_init()
    rates, ret = acl.rt.get_device_utilization_rate(index)
    check_status(ret, "aclrtGetDeviceUtilizationRate")
    measured = [rates[cores] for cores in ("cube", "vector") if rates[cores] >= 0]
    if not measured:
        raise RuntimeError(f"the driver does not measure how busy npu:{index} is")
    return sum(measured) // len(measured)


def is_bf16_supported(including_emulation: bool = False) -> Any:
    """Whether the chip computes in bfloat16: the 910B family and later do.

    Arguments:
        including_emulation: not read: no chip emulates it

    Example:
        >>> dtype = torch.bfloat16 if torch.npu.is_bf16_supported() else torch.float16
    """
    return not get_device_name().startswith(("Ascend310", "Ascend910A", "Ascend910Pro"))


def can_device_access_peer(device_id: Any, peer_device_id: Any) -> bool:
    """Whether a device can access the memory of another one; False for a peer that does not exist.

    Arguments:
        device_id: the index of the NPU

    Example:
        >>> torch.npu.can_device_access_peer(0, torch.npu.device_count())
        False
    """
    count = _existing_devices()
    if not 0 <= device_id < count:
        raise AssertionError("Invalid device id")
    if peer_device_id < 0:
        raise AssertionError("Invalid peer device id")
    if peer_device_id == device_id or peer_device_id >= count:
        return False
    from mindtorch._npu import peers
    return peers.can_access(device_id, peer_device_id)


def enable_peer_access(peer_device_id: Any, device: Device = None) -> None:
    """Lets `device` (None: the current one) access the memory of a peer. RuntimeError if it cannot.

    Example:
        >>> if torch.npu.device_count() > 1:
        ...     torch.npu.enable_peer_access(1)
        ...     torch.npu.disable_peer_access(1)
    """
    index = _peer_index(peer_device_id, device)
    from mindtorch._npu import peers
    peers.enable_access(index, peer_device_id)


def disable_peer_access(peer_device_id: Any, device: Device = None) -> None:
    """Undoes enable_peer_access.

    Example:
        >>> if torch.npu.device_count() > 1:
        ...     torch.npu.enable_peer_access(1)
        ...     torch.npu.disable_peer_access(1)
    """
    index = _peer_index(peer_device_id, device)
    from mindtorch._npu import peers
    peers.disable_access(index, peer_device_id)


def _peer_index(peer, device):
    index = _valid_index(device)
    if not can_device_access_peer(index, peer):
        raise RuntimeError(f"peer access from npu:{index} to npu:{peer} is not possible: "
                           f"{_existing_devices()} device(s) available")
    return index


_complete_docstrings(globals(), "npu")
