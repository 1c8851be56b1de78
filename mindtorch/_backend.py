"""The only module that imports the backends. It imports the backend of a device type at its first use."""
from importlib import import_module

from mindtorch._core import hooks

_MODULES = {"cpu": "mindtorch._cpu.backend", "npu": "mindtorch._npu.aclnn_call"}


def load(name):
    """Imports the backend of device type `name` ("cpu", "npu") and registers it. Repeated calls do nothing."""
    import_module(_MODULES[name]).register()


def npu_available():
    """Whether device "npu" can be used, without starting it. Never raises."""
    from mindtorch._npu import availability
    return availability.is_available()


def pin_memory(tensor):
    """A copy of a CPU tensor in page-locked memory."""
    from mindtorch._npu import host_memory
    return host_memory.pin_memory(tensor)


def is_pinned(tensor):
    """Whether a tensor is in page-locked memory."""
    from mindtorch._npu import host_memory
    return host_memory.is_pinned(tensor)


def record_stream(tensor, stream):
    """Delays reuse of an NPU tensor's memory until `stream` has finished its work at the time the tensor is freed."""
    from mindtorch._npu import allocator
    allocator.record_stream(tensor, stream)


def current_stream(device_index):
    """The calling thread's current stream on an NPU."""
    from mindtorch._npu import streams
    return streams.get_current_stream(device_index)


def default_stream(device_index):
    """The stream that is current in a new thread on an NPU."""
    from mindtorch._npu import streams
    return streams.get_default_stream(device_index)


def set_stream(stream):
    """Make `stream` the calling thread's current one on its NPU; the current device stays."""
    from mindtorch._npu import streams as stream_module
    stream_module.set_current_stream(stream)


def missing_operators():
    """Names of the aclnn operators that the toolkit in use does not have. Loads the toolkit."""
    from mindtorch._npu import acl_loader
    acl_loader.ensure_acl()
    return acl_loader.missing_operators()


def cpu_threads():
    """The module that sets the number of threads of the CPU's BLAS library."""
    from mindtorch._cpu import threads
    return threads


def allocated_bytes():
    """The bytes that tensors occupy on all NPUs; 0 before the first use."""
    from mindtorch._npu import availability
    if not availability.is_initialized():
        return 0
    from mindtorch._npu import allocator, runtime
    return sum(allocator.get_allocator(index)._stats["allocated_bytes.all.current"]
               for index in runtime.started_devices())


def profile_launches(on):
    """Switches recording of NPU launches in profiles on or off."""
    from mindtorch._npu import launch
    launch.profile_launches(on)


hooks.load_backend, hooks.current_stream = load, current_stream
hooks.default_stream, hooks.set_stream = default_stream, set_stream


def stream_work():
    """The class of collectives that HCCL has on a stream."""
    from mindtorch._npu import communicator
    return communicator.StreamWork


def group_on_streams():
    """The class that runs a group's collectives on streams."""
    from mindtorch._npu import communicator
    return communicator.GroupOnStreams


def hccl():
    """The module of HCCL's communicators. Loads the toolkit's collective library."""
    from mindtorch._npu import communicator
    communicator.load()
    return communicator
