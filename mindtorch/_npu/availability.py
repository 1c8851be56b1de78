"""Whether there are NPUs, and whether this process uses them. These functions start no device."""
from __future__ import annotations

import sys
import warnings

_warned = False          # is_available() has said why there is no NPU


def device_count() -> int:
    """How many devices there are; 0 where is_available() is False.

    Example:
        >>> torch.npu.device_count() > 0
        True
    """
    from mindtorch._npu import acl_loader, runtime, toolkit
    if toolkit.mode() == "off":
        return 0
    return runtime.device_count() if acl_loader.is_requested() else 0


def is_available() -> bool:
    """Whether there is an NPU to use. RuntimeError for an unknown MINDTORCH_NPU; nothing else makes it raise.

    Without Ascend the answer is no, as torch_npu gives it, until the simulator is wanted: MINDTORCH_NPU=sim says so, or
    a tensor was made on device "npu". Where there is a toolkit or a device that cannot be used, the answer is no with a
    warning, once, that says why.

    Example:
        >>> device = "npu" if torch.npu.is_available() else "cpu"
    """
    global _warned
    from mindtorch._npu import toolkit
    toolkit.mode()                   # which may be unknown
    try:
        return device_count() > 0
    except Exception as error:       # noqa: BLE001 - a toolkit may fail in any way, and a program may go on without it
        if not _warned and not _has_ended():
            _warned = True
            warnings.warn(f"torch.npu.is_available() is False: {error}. `python -m mindtorch doctor` says more",
                          RuntimeWarning, stacklevel=2)
        return False


def _has_ended():
    """Whether the runtime was closed, or belongs to the parent of this process: nothing is broken then."""
    runtime = sys.modules.get("mindtorch._npu.runtime")
    return runtime is not None and not runtime.is_usable()


def is_initialized() -> bool:
    """Whether a device has been started in this process.

    Example:
        >>> torch.ones(1, device="npu").item()
        1.0
        >>> torch.npu.is_initialized()
        True
    """
    runtime = sys.modules.get("mindtorch._npu.runtime")
    return runtime is not None and runtime.is_started()
