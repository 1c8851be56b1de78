"""Whether there are NPUs, and whether this process uses them: questions that start no device."""
from __future__ import annotations

import sys


def device_count() -> int:
    """How many devices there are; 0 where is_available() is False."""
    from mindtorch._npu import acl_loader, runtime
    return runtime.device_count() if acl_loader.is_requested() else 0


def is_available() -> bool:
    """Whether there is an NPU to use. Never raises.

    Without Ascend the answer is no, as torch_npu gives it, until the simulator is wanted: MINDTORCH_NPU=sim says so, or
    a tensor was made on device "npu".
    """
    try:
        return device_count() > 0
    except Exception:       # noqa: BLE001 - a toolkit may fail in any way; what is wrong is said at the first use
        return False


def is_initialized() -> bool:
    """Whether a device has been started in this process."""
    runtime = sys.modules.get("mindtorch._npu.runtime")
    return runtime is not None and runtime.is_started()
