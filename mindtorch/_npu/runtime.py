"""The life of a device: started at its first use, closed with all others when the process ends.

It uses pyACL's calls (see acl.pyx). Operators do not run this code, except `synchronize` in each copy to the host.
"""
import atexit
import os
import threading
import time
import traceback

from mindtorch._npu import acl, acl_loader, allocator, host_memory, oom_snapshot, streams
from mindtorch._npu.acl import check_status

REPEAT_INITIALIZE = 100002
BAD_FORK = ("Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the "
            "'spawn' start method")

_RUNTIME_CLEANUP_REGISTERED = False
_runtimes = {}                   # device index -> _Runtime that has been started
_lock = threading.RLock()        # held while a device is started
before_waits = []                # functions to be called before the host waits for a device
before_close = []                # functions to be called at exit, before the devices are closed
_pending_calls = []              # (callback, its call stack), to be called after the first device is started
_device_count = None
_initialised = None              # the driver for which aclInit was called
_owns_acl = False                # this module called aclInit, so it calls aclFinalize
_state = "open"                  # "closed" at exit; "forked" in the child of a process that had started ACL


def _start_acl():
    global _initialised, _owns_acl
    if _initialised is acl:
        return
    ret = acl.init()
    if ret != REPEAT_INITIALIZE:         # another library called aclInit, and will call aclFinalize
        check_status(ret, "aclInit")
        _owns_acl = True
    _initialised = acl


class _Runtime:
    """One device: its context, its default stream, and raw memory to be freed when that stream is idle."""

    def __init__(self):
        self.initialized = False
        self.device_id = None
        self.context = None
        self.stream = None
        self._deferred = []

    def init(self, device_id):
        """Starts the device. Repeated calls do nothing."""
        if self.initialized:
            return
        _start_acl()
        check_status(acl.rt.set_device(device_id), "aclrtSetDevice")
        try:
            self.context, ret = acl.rt.create_context(device_id)
            check_status(ret, "aclrtCreateContext")
            try:
                self.stream, ret = acl.rt.create_stream()
                check_status(ret, "aclrtCreateStreamWithConfig")
            except BaseException:
                acl.rt.destroy_context(self.context)
                raise
        except BaseException:
            acl.rt.reset_device(device_id)
            raise
        self.device_id = device_id
        self.initialized = True
        self._register_cleanup()

    def _register_cleanup(self):
        global _RUNTIME_CLEANUP_REGISTERED
        if not _RUNTIME_CLEANUP_REGISTERED:
            atexit.register(self.shutdown)
            _RUNTIME_CLEANUP_REGISTERED = True

    def defer_free(self, pointer):
        """Frees memory of acl.rt.malloc once the default stream is idle."""
        self._deferred.append(pointer)

    def synchronize(self, stream=None):
        """Waits for `stream` (a handle; None: the default stream, and then frees what was deferred)."""
        target = self.stream if stream is None else stream
        check_status(acl.rt.synchronize_stream(target), "aclrtSynchronizeStream")
        if target == self.stream:
            while self._deferred:
                pointer = self._deferred.pop()
                ret = acl.rt.free(pointer)
                if ret:
                    self._deferred.append(pointer)       # to be tried again
                check_status(ret, "aclrtFree")

    def synchronize_device(self):
        """Waits for all streams of the device."""
        for call in before_waits:
            call()
        streams.make_current(self.device_id)
        check_status(acl.rt.synchronize_device(), "aclrtSynchronizeDevice")
        streams.process_deferred_now()

    def shutdown(self):
        """Closes every started device, in CANN's order. A status no longer matters: the device may have failed."""
        global _state
        if _state != "open":
            return
        _state = "closed"
        started = list(_runtimes.values())
        streams.block_other_threads()        # other threads may still run
        while streams.has_pending_launches():
            time.sleep(0.001)
        acl.stop_queues()
        acl.drop_kept_executors()
        for call in before_close:
            call()
        for runtime in started:
            acl.rt.set_context(runtime.context)
            for stream in streams.stream_handles(runtime.device_id):
                acl.rt.synchronize_stream(stream)
            streams.release_all(runtime.device_id)
        if started:
            host_memory.close()
        for runtime in started:
            runtime._close()
        _runtimes.clear()
        if _owns_acl:
            acl.finalize()
        failure = acl.take_failure()
        if failure is not None:
            raise failure                    # Python prints it

    def _close(self):
        acl.rt.set_context(self.context)
        for pointer in self._deferred:
            acl.rt.free(pointer)
        allocator.get_allocator(self.device_id).close()
        streams.close_device(self.device_id)
        acl.rt.destroy_stream(self.stream)
        acl.rt.destroy_context(self.context)
        acl.rt.reset_device(self.device_id)
        self.initialized = False


def get_runtime(index=0):
    """The runtime of device `index`, started."""
    runtime = _runtimes.get(index)
    return _start(index) if runtime is None else runtime


def require_device(index):
    """RuntimeError where no device `index` can be used."""
    _check_usable()
    count = device_count()
    if not 0 <= index < count:
        raise RuntimeError(f"NPU error: invalid device ordinal {index}: {count} device(s) available")


def _start(index):
    require_device(index)
    with _lock:
        if index not in _runtimes:
            runtime = _Runtime()
            runtime.init(index)
            streams.add_device(index, runtime.context, runtime.stream)
            _runtimes[index] = runtime
            _run_pending_calls()
    return _runtimes[index]


class DeferredNpuCallError(Exception):
    """A callback of call_when_started raised."""


def call_when_started(callback):
    """Calls `callback` now where a device has been started, else right after the first one is."""
    if is_started():
        callback()
    else:
        _pending_calls.append((callback, traceback.format_stack()[:-2]))


def _run_pending_calls():
    while _pending_calls:
        callback, stack = _pending_calls.pop(0)
        try:
            callback()
        except Exception as error:
            raise DeferredNpuCallError(f"NPU call failed lazily at initialization with error: {error}\n\n"
                                       f"NPU call was originally invoked at:\n\n{''.join(stack)}") from error


def _check_usable():
    if _state == "forked":
        raise RuntimeError(BAD_FORK)
    if _state == "closed":
        raise RuntimeError("the NPU has been shut down: the process is ending")


def device_count():
    """The number of devices. Loads CANN but does not initialize it, so that a forked child still can."""
    global _device_count
    _check_usable()
    if _device_count is None:
        acl_loader.ensure_acl()
        count, ret = acl.rt.get_device_count()
        check_status(ret, "aclrtGetDeviceCount")
        _device_count = count
    return _device_count


def is_started():
    """Whether any device has been started in this process."""
    return bool(_runtimes)


def is_usable():
    """Whether this process may use devices: not while it ends, nor in the child of one that had started ACL."""
    return _state == "open"


def in_bad_fork():
    """Whether this process is the child of one that had started ACL."""
    return _state == "forked"


def started_devices():
    """Indices of the devices in use."""
    return sorted(_runtimes)


def _after_fork_in_child():
    global _state, _lock
    _lock = threading.RLock()
    if _runtimes or _owns_acl:       # the driver does not survive a fork, even if it only counted devices
        _state = "forked"
        _runtimes.clear()
        streams.drop_devices()


oom_snapshot.follow_environment()
os.register_at_fork(after_in_child=_after_fork_in_child)
