"""Recovery after a device fault: uncorrectable memory errors, stopping and restarting a device."""
from __future__ import annotations

from typing import Any

from mindtorch import npu
from mindtorch.npu._acl_calls import acl, bound, check
from mindtorch.npu.device import _valid_index

NONE, OUTSIDE, UNUSED, IN_USE = range(4)


def check_uce_in_memory(device_id: Any) -> Any:
    """Where the device has uncorrectable memory errors, as a number.

    0: none. 1: outside the memory of this process's allocator. 2: in free cached memory, which is now returned to the
    driver, so the training step can be repeated. 3: in memory in use, whose contents must be loaded again.

    Arguments:
        device_id: the index of the NPU

    Example:
        >>> torch.npu.check_uce_in_memory(0)
        0
    """
    index = _valid_index(device_id)
    errors, status = bound(index).get_mem_uce_info(index)
    check(status, "aclrtGetMemUceInfo")
    if not errors:
        return NONE
    if not _cached(index, errors):
        return OUTSIDE
    npu.empty_cache()
    return IN_USE if _cached(index, errors) else UNUSED


def _cached(index, errors):
    """Whether the allocator's segments reach into one of the ranges of addresses."""
    segments = npu._get_allocator(index).snapshot()
    return any(segment["address"] < address + nbytes and address < segment["address"] + segment["total_size"]
               for segment in segments for address, nbytes in errors)


def stop_device(device_id: Any) -> Any:
    """Aborts the pending work of the device; waiting for it raises RuntimeError. Returns 0 on success, else 1.

    Arguments:
        device_id: the index of the NPU

    Example:
        >>> torch.npu.stop_device(0)
        0
        >>> torch.npu.restart_device(0)
        >>> torch.ones(2, device="npu") + 1
        tensor([2., 2.], device='npu:0')
    """
    index = _valid_index(device_id)
    return int(bound(index).device_task_abort(index) != 0)


def restart_device(device_id: Any, rebuild_all_resources: bool = False,
                   disable_tensor_unsafe_check: bool = False) -> None:
    """Resumes after stop_device. Outputs of the aborted work are undefined.

    RuntimeError where `rebuild_all_resources`: a device is closed only when the process ends.

    Arguments:
        device_id: the index of the NPU
        rebuild_all_resources: whether streams and communicators are made anew
        disable_tensor_unsafe_check: not read

    Example:
        >>> torch.npu.stop_device(0)
        0
        >>> torch.npu.restart_device(0)
        >>> torch.ones(2, device="npu") + 1
        tensor([2., 2.], device='npu:0')
    """
    if rebuild_all_resources:
        raise RuntimeError("torch.npu.restart_device(rebuild_all_resources=True) is not available: a device is closed "
                           "only when the process ends")
    index = _valid_index(device_id)
    acl().take_failure()                     # launches that stop_device has dropped
    npu.synchronize(index)
