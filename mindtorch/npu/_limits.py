"""Limits on the number of cores that operators may use, per device and per stream. The simulator only stores them."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mindtorch import npu
from mindtorch._npu import stream_context
from mindtorch.npu._acl_calls import bound, check, launch
from mindtorch.npu.device import _valid_index

if TYPE_CHECKING:
    from mindtorch.types import Device

_limited: set = set()            # streams with limits of their own, which empty_cache leaves alone
_thread = threading.local()      # .stream: its limits apply to the operators of the thread


def _kinds():
    from mindtorch._npu import acl
    return {"cube_core_num": acl.CUBE_CORE_LIMIT, "vector_core_num": acl.VECTOR_CORE_LIMIT}


def _requested_limits(index, cube_num, vector_num):
    """(kind, cores) of the limits to set. All are checked before any is set."""
    properties = npu.get_device_properties(index)
    requested = []
    for (name, kind), cores in zip(_kinds().items(), (cube_num, vector_num), strict=True):
        if not isinstance(cores, int):
            raise TypeError(f"{name} must be int, not {type(cores).__name__}")
        if cores != -1 and not 1 <= cores <= getattr(properties, name):
            raise ValueError(f"{name} is {cores}, expected 1 to {getattr(properties, name)}, or -1 to leave it")
        if cores != -1:
            requested.append((kind, cores))
    return requested


def set_device_limit(device: Device, cube_num: Any = -1, vector_num: Any = -1) -> None:
    """Limits the cores of `device` that operators of this process use; -1 leaves a limit as it is.

    Arguments:
        device: the NPU: an index, "npu:0" or a torch.device; None means the current one
        cube_num: the number of cube cores; -1 leaves it as it is
        vector_num: the number of vector cores; -1 leaves it as it is

    Example:
        >>> cores = torch.npu.get_device_limit(0)
        >>> torch.npu.set_device_limit(0, cube_num=4)
        >>> torch.npu.get_device_limit(0)["cube_core_num"]
        4
        >>> torch.npu.set_device_limit(0, cores["cube_core_num"], cores["vector_core_num"])
    """
    index = _valid_index(device)
    for kind, cores in _requested_limits(index, cube_num, vector_num):
        check(bound(index).set_device_res_limit(index, kind, cores), "aclrtSetDeviceResLimit")
        launch().note_setting(("device", index, kind), cores)


def get_device_limit(device: Device) -> Any:
    """The numbers of cores that operators may use on `device`, by kind; all cores where no limit is set.

    Arguments:
        device: the NPU: an index, "npu:0" or a torch.device; None means the current one

    Example:
        >>> sorted(torch.npu.get_device_limit(0))
        ['cube_core_num', 'vector_core_num']
    """
    index = _valid_index(device)
    limits = {}
    for name, kind in _kinds().items():
        limits[name], status = bound(index).get_device_res_limit(index, kind)
        check(status, "aclrtGetDeviceResLimit")
    return limits


def set_stream_limit(stream: Any, cube_num: Any = -1, vector_num: Any = -1) -> None:
    """Limits the cores that operators of `stream` use; -1 leaves a limit as it is.

    Arguments:
        stream: the stream; None means the current one
        cube_num: the number of cube cores; -1 leaves it as it is
        vector_num: the number of vector cores; -1 leaves it as it is

    Example:
        >>> stream = torch.npu.Stream()
        >>> torch.npu.set_stream_limit(stream, cube_num=4)
        >>> torch.npu.get_stream_limit(stream)["cube_core_num"]
        4
        >>> torch.npu.reset_stream_limit(stream)
    """
    index = _index_of(stream)
    for kind, cores in _requested_limits(index, cube_num, vector_num):
        check(bound(index).set_stream_res_limit(stream.npu_stream, kind, cores), "aclrtSetStreamResLimit")
        launch().note_setting(("stream", stream.npu_stream, kind), cores)
        _limited.add(stream)
    stream_context.apply_limits = _apply_limits
    _apply_limits(npu.current_stream(index))


def get_stream_limit(stream: Any) -> Any:
    """The numbers of cores that operators of `stream` may use, by kind; those of its device where it has no limit.

    Arguments:
        stream: the stream; None means the current one

    Example:
        >>> sorted(torch.npu.get_stream_limit(torch.npu.current_stream()))
        ['cube_core_num', 'vector_core_num']
    """
    index = _index_of(stream)
    limits = {}
    for name, kind in _kinds().items():
        limits[name], status = bound(index).get_stream_res_limit(stream.npu_stream, kind)
        check(status, "aclrtGetStreamResLimit")
    return limits


def reset_stream_limit(stream: Any) -> None:
    """Removes the limits of set_stream_limit.

    Arguments:
        stream: the stream; None means the current one

    Example:
        >>> stream = torch.npu.Stream()
        >>> torch.npu.set_stream_limit(stream, cube_num=4)
        >>> torch.npu.reset_stream_limit(stream)
        >>> torch.npu.get_stream_limit(stream) == torch.npu.get_device_limit(0)
        True
    """
    index = _index_of(stream)
    check(bound(index).reset_stream_res_limit(stream.npu_stream), "aclrtResetStreamResLimit")
    for kind in _kinds().values():
        launch().note_setting(("stream", stream.npu_stream, kind), None)
    _limited.discard(stream)
    _apply_limits(npu.current_stream(index))


def _index_of(stream):
    if not isinstance(stream, npu.Stream):
        raise TypeError(f"stream must be torch.npu.Stream, not {type(stream).__name__}")
    return stream.device_index


def _apply_limits(stream):
    """Applies the limits of `stream`, the new current stream, to the calling thread."""
    before = getattr(_thread, "stream", None)
    if stream in _limited:
        check(bound(stream.device_index).use_stream_res_in_current_thread(stream.npu_stream),
              "aclrtUseStreamResInCurrentThread")
        launch().note_thread_limits(stream.npu_stream)
        _thread.stream = stream
    elif before is not None:
        check(bound(before.device_index).unuse_stream_res_in_current_thread(before.npu_stream),
              "aclrtUnuseStreamResInCurrentThread")
        launch().note_thread_limits(0)
        _thread.stream = None
