"""How many cores operators may use: of a device, of a stream. The chip shares them out; the simulator keeps count."""
import threading

from mindtorch import npu
from mindtorch._npu import stream_context
from mindtorch.npu._calls import bound, check
from mindtorch.npu.device import _valid_index

_limited: set = set()            # streams with limits of their own, which empty_cache leaves alone
_thread = threading.local()      # .stream: whose limits the thread's operators have


def _kinds():
    from mindtorch._npu import acl
    return {"cube_core_num": acl.CUBE_CORE_LIMIT, "vector_core_num": acl.VECTOR_CORE_LIMIT}


def _asked(index, cube_num, vector_num):
    """(kind, cores) of the limits to set; nothing is set where one of them cannot be."""
    properties = npu.get_device_properties(index)
    asked = []
    for (name, kind), cores in zip(_kinds().items(), (cube_num, vector_num), strict=True):
        if not isinstance(cores, int):
            raise TypeError(f"{name} must be int, not {type(cores).__name__}")
        if cores != -1 and not 1 <= cores <= getattr(properties, name):
            raise ValueError(f"{name} is {cores}, expected 1 to {getattr(properties, name)}, or -1 to leave it")
        if cores != -1:
            asked.append((kind, cores))
    return asked


def set_device_limit(device, cube_num=-1, vector_num=-1):
    """Lets this process's operators use so many cores of `device` at most; -1: as many as before."""
    index = _valid_index(device)
    for kind, cores in _asked(index, cube_num, vector_num):
        check(bound(index).set_device_res_limit(index, kind, cores), "aclrtSetDeviceResLimit")


def get_device_limit(device):
    """How many cores operators may use on `device`, by their kind: all, where no limit is set."""
    index = _valid_index(device)
    limits = {}
    for name, kind in _kinds().items():
        limits[name], status = bound(index).get_device_res_limit(index, kind)
        check(status, "aclrtGetDeviceResLimit")
    return limits


def set_stream_limit(stream, cube_num=-1, vector_num=-1):
    """Lets operators of `stream` use so many cores at most, from when it becomes current; -1: as many as before."""
    index = _index_of(stream)
    for kind, cores in _asked(index, cube_num, vector_num):
        check(bound(index).set_stream_res_limit(stream.npu_stream, kind, cores), "aclrtSetStreamResLimit")
        _limited.add(stream)
    stream_context.follow_limits = _follow
    _follow(npu.current_stream(index))


def get_stream_limit(stream):
    """How many cores operators of `stream` may use, by their kind: its device's limits, where it has none."""
    index = _index_of(stream)
    limits = {}
    for name, kind in _kinds().items():
        limits[name], status = bound(index).get_stream_res_limit(stream.npu_stream, kind)
        check(status, "aclrtGetStreamResLimit")
    return limits


def reset_stream_limit(stream):
    """Takes the limits of set_stream_limit away."""
    index = _index_of(stream)
    check(bound(index).reset_stream_res_limit(stream.npu_stream), "aclrtResetStreamResLimit")
    _limited.discard(stream)
    _follow(npu.current_stream(index))


def _index_of(stream):
    if not isinstance(stream, npu.Stream):
        raise TypeError(f"stream must be torch.npu.Stream, not {type(stream).__name__}")
    return stream.device_index


def _follow(stream):
    """The calling thread's operators go to `stream` from now on: its limits are theirs."""
    before = getattr(_thread, "stream", None)
    if stream in _limited:
        check(bound(stream.device_index).use_stream_res_in_current_thread(stream.npu_stream),
              "aclrtUseStreamResInCurrentThread")
        _thread.stream = stream
    elif before is not None:
        check(bound(before.device_index).unuse_stream_res_in_current_thread(before.npu_stream),
              "aclrtUnuseStreamResInCurrentThread")
        _thread.stream = None
