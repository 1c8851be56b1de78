"""Devices: which there are, which one is current, what they can do."""
import sys
from dataclasses import dataclass

from mindtorch import npu


def is_available():
    """Whether there is an NPU to use, real or simulated. Never raises."""
    try:
        return device_count() > 0
    except Exception:       # noqa: BLE001 - a toolkit may fail in any way; what is wrong is said at the first use
        return False


def is_initialized():
    """Whether a device has been started in this process."""
    runtime = sys.modules.get("mindtorch._npu.runtime")
    return runtime is not None and runtime.is_started()


def _is_in_bad_fork():
    runtime = sys.modules.get("mindtorch._npu.runtime")
    return runtime is not None and runtime.in_bad_fork()


def init():
    """Starts the current device, which its first use would do too."""
    from mindtorch._npu import handles, runtime
    runtime.get_runtime(handles.current_device())


def _lazy_init():
    init()


def toolkit():
    """The CANN toolkit in use: `root`, `version`, `simulated`; readable as text."""
    from mindtorch._npu import acl_loader
    acl_loader.ensure_acl()
    return acl_loader.toolkit()


def device_count():
    """How many devices there are. Starts none."""
    from mindtorch._npu import runtime
    return runtime.device_count()


def _get_device_index(device, optional=False, allow_cpu=False):
    """See mindtorch._npu.index.get_device_index; a `torch.npu.device` object stands for its index."""
    from mindtorch._npu.index import get_device_index
    return get_device_index(device.idx if isinstance(device, npu.device) else device, optional, allow_cpu)


def _valid_index(device):
    """The index of a device that exists; AssertionError otherwise, as torch has it."""
    index = _get_device_index(device, optional=True)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    return index


def current_device():
    """Index of the calling thread's current device."""
    from mindtorch._npu import handles
    _lazy_init()
    return handles.current_device()


def set_device(device):
    """Makes `device` the calling thread's current one. A negative index changes nothing."""
    index = _get_device_index(device, optional=True)
    if index >= 0:
        from mindtorch._npu import handles
        handles.set_current_device(index)


class device:
    """with torch.npu.device(1): ... makes npu:1 current inside. None and negative indexes change nothing."""

    def __init__(self, device):
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exception):
        if self.idx >= 0:
            set_device(self.prev_idx)
        return False


class device_of(device):
    """with torch.npu.device_of(tensor): ... makes the tensor's device current inside, unless it is a CPU tensor."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.device.type == "npu" else -1)


def synchronize(device=None):
    """Waits for all work on `device` (None: the current one)."""
    from mindtorch._npu import runtime
    runtime.get_runtime(_get_device_index(device, optional=True)).synchronize_device()


def _get_device_name(device=None):
    from mindtorch._npu import acl
    _valid_index(device)
    name = acl.get_soc_name()
    if name is None:
        raise RuntimeError("NPU error: aclrtGetSocName returned no name")
    return name + (" (simulated)" if toolkit().simulated else "")


def get_device_name(device=None):
    """The chip's name, as in "Ascend910B1"; of the simulator it ends in "(simulated)"."""
    return npu._get_device_name(device)


def _get_device_capability(device=None):
    _valid_index(device)
    return 0, 0


def get_device_capability(device=None):
    """(0, 0): what CUDA calls a compute capability has no counterpart on Ascend."""
    return npu._get_device_capability(device)


@dataclass(frozen=True)
class _NPUDeviceProperties:
    name: str
    total_memory: int

    def __repr__(self):
        return f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory // 2**20}MB)"


def get_device_properties(device=None):
    """An object with `name` and `total_memory` (bytes)."""
    index = _valid_index(device)
    return _NPUDeviceProperties(get_device_name(index), npu.mem_get_info(index)[1])


def is_bf16_supported(including_emulation=False):
    """Whether the chip computes in bfloat16: all of the 910B family and later."""
    return not get_device_name().startswith(("Ascend310", "Ascend910A", "Ascend910Pro"))


def can_device_access_peer(device_id, peer_device_id):
    """Whether one device can be let reach another one's memory; False for a peer that does not exist."""
    count = device_count()
    if not 0 <= device_id < count:
        raise AssertionError("Invalid device id")
    if peer_device_id < 0:
        raise AssertionError("Invalid peer device id")
    if peer_device_id == device_id or peer_device_id >= count:
        return False
    from mindtorch._npu import peers
    return peers.can_access(device_id, peer_device_id)


def enable_peer_access(peer_device_id, device=None):
    """Lets `device` (None: the current one) reach the memory of another device. RuntimeError where it cannot."""
    index = _reachable(peer_device_id, device)
    from mindtorch._npu import peers
    peers.open_access(index, peer_device_id)


def disable_peer_access(peer_device_id, device=None):
    """Ends what enable_peer_access began."""
    index = _reachable(peer_device_id, device)
    from mindtorch._npu import peers
    peers.close_access(index, peer_device_id)


def _reachable(peer, device):
    index = _valid_index(device)
    if not can_device_access_peer(index, peer):
        raise RuntimeError(f"peer access from npu:{index} to npu:{peer} is not possible: "
                           f"{device_count()} device(s) available")
    return index
