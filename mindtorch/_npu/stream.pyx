"""torch.npu.Stream, and the calling thread's current stream.

A Stream object holds a record of handles.pyx. When the last object for a record goes, the driver's stream is not
destroyed: it is idle, until its turn comes again or empty_cache() finds it.
"""
import threading

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport intptr_t
from posix.time cimport nanosleep, timespec

from mindtorch._core.device import device as torch_device
from mindtorch._npu.index import get_device_index

from mindtorch._core.device cimport BACKENDS, NPU
from mindtorch._npu.cann.acl_base_rt cimport aclrtStream
from mindtorch._npu.cann.acl_rt cimport ACL_STREAM_STATUS_COMPLETE, aclrtHostFunc, aclrtStreamStatus
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport (
    HIGH_STREAM, NORMAL_STREAM, SYNC_LAUNCH_STREAM, about_to_wait, current_stream, default_stream, is_capturing,
    let_wait, take_external, take_numbered, take_stream, thread_state, use_device, wait_for_stream)
from mindtorch._npu.records cimport StreamSlot
from mindtorch._npu.symbols cimport api, require

# The Stream objects behind thread_state().streams: they keep the records from being idle, until the thread ends.
_current = threading.local()


cdef enum:
    PRIVATE_USE = 20                 # torch's number of this type of device


cdef class Stream:
    """Stream(device=None, priority=0): a queue of work on one device; work of different streams may overlap.

    There are 32 of each priority (0, and -1 for what is below) on a device, handed out in turn: the 33rd is the first.
    Stream(stream_id=, device_index=, device_type=) is the stream with these attributes.
    """

    def __init__(self, device=None, int priority=0, *, stream_id=None, device_index=None, device_type=None):
        if self.slot != NULL:
            return
        if stream_id is not None:
            self.slot = take_numbered(device_index or 0, stream_id)
        else:
            self.slot = take_stream(get_device_index(device, optional=True),
                                    HIGH_STREAM if priority < 0 else NORMAL_STREAM)

    def __dealloc__(self):
        if self.slot != NULL:
            self.slot.holders -= 1

    @property
    def device(self):
        return torch_device("npu", self.slot.device)

    @property
    def device_index(self):
        return self.slot.device

    @property
    def device_type(self):
        """20, torch's number of the type "npu"."""
        return PRIVATE_USE

    @property
    def stream_id(self):
        return self.slot.number

    @property
    def npu_stream(self):
        """The driver's aclrtStream, as an int."""
        return <intptr_t>self.slot.handle

    @property
    def native_handle(self):
        """npu_stream under the name that torch.Stream has for it."""
        return self.npu_stream

    @property
    def _as_parameter_(self):
        import ctypes
        return ctypes.c_void_p(<intptr_t>self.slot.handle)

    @property
    def priority(self):
        return self.slot.priority

    @staticmethod
    def priority_range():
        """(lowest, highest) priority, as torch counts them. CANN accepts a priority and ignores it."""
        return 0, -1

    def is_capturing(self):
        """Whether the stream's work is stored in a graph now."""
        return self.slot.capture != NULL

    def query(self):
        """Whether all work submitted so far is done."""
        cdef aclrtStreamStatus status
        use_device(self.slot.device)
        check(api.aclrtStreamQuery(self.slot.handle, &status), b"aclrtStreamQuery")
        return status == ACL_STREAM_STATUS_COMPLETE

    def synchronize(self):
        """Waits for all work submitted so far."""
        about_to_wait()
        wait_for_stream(self.slot)

    def record_event(self, event=None):
        """Records `event` (a new one where None) behind the work submitted so far, and returns it."""
        if event is None:
            from mindtorch._npu.event import Event
            event = Event()
        event.record(self)
        return event

    def wait_event(self, event):
        """Later work of this stream waits for `event` as recorded last."""
        event.wait(self)

    def wait_stream(self, Stream stream not None):
        """Later work of this stream waits for what has been submitted to `stream`."""
        let_wait(self.slot, stream.slot)

    def __enter__(self):
        """Makes the stream, and its device, current inside the `with`."""
        from mindtorch._npu.stream_context import StreamContext
        context = StreamContext(self)
        _entered().append(context)
        context.__enter__()
        return self

    def __exit__(self, *exception):
        _entered().pop().__exit__(*exception)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.slot == (<Stream>other).slot

    def __hash__(self):
        return hash((<intptr_t>self.slot.handle, self.slot.device))

    def __repr__(self):
        return (f"<mindtorch.npu.{type(self).__name__} device=npu:{self.slot.device} "
                f"npu_stream={<intptr_t>self.slot.handle:#x}>")


class SyncLaunchStream(Stream):
    """A stream of a pool of four, of its own. torch_npu launches work on it past its queue, which mindtorch has not."""

    def __init__(self, device=None, int priority=0):
        if priority:
            raise RuntimeError("a SyncLaunchStream has no priority")
        assign(self, take_stream(get_device_index(device, optional=True), SYNC_LAUNCH_STREAM))


class ExternalStream(Stream):
    """ExternalStream(stream_ptr, device=None): a stream that somebody else has made, by its aclrtStream as an int.

    Who made it destroys it, after all work on it and after the memory allocated for it.
    """

    def __init__(self, stream_ptr, device=None, int priority=0):
        if not stream_ptr:
            raise RuntimeError("ExternalStream needs the handle of a stream, got a null pointer")
        if priority:
            raise RuntimeError("an ExternalStream has the priority that it was made with")
        assign(self, take_external(get_device_index(device, optional=True), <aclrtStream><intptr_t>stream_ptr))


cdef int assign(Stream stream, StreamSlot *slot) except -1:
    if stream.slot != NULL:
        stream.slot.holders -= 1
    stream.slot = slot
    return 0


def _entered():
    """The calling thread's `with stream:` blocks."""
    if not hasattr(_current, "entered"):
        _current.entered = []
    return _current.entered


cdef Stream wrap_stream(StreamSlot *slot):
    cdef Stream stream = Stream.__new__(Stream)
    stream.slot = slot
    slot.holders += 1
    return stream


def get_current_stream(int device):
    """The calling thread's current stream on `device`."""
    return wrap_stream(current_stream(device))


def get_default_stream(int device):
    return wrap_stream(default_stream(device))


def set_current_stream(Stream stream not None):
    """Makes `stream` the calling thread's current stream on its device."""
    use_device(stream.slot.device)
    if not hasattr(_current, "streams"):
        _current.streams = {}
    _current.streams[stream.slot.device] = stream
    thread_state().streams[stream.slot.device] = stream.slot
    if stream.slot != default_stream(stream.slot.device):
        BACKENDS[<int>NPU].streams = True


# Work of the host in a stream's order

cdef void call(void *function) noexcept with gil:
    called = <object>function
    Py_DECREF(called)
    called()                         # an exception has nowhere to go: it is printed


cdef void rest(void *nanoseconds) noexcept nogil:
    cdef timespec time
    time.tv_sec = <intptr_t>nanoseconds // 1000000000
    time.tv_nsec = <intptr_t>nanoseconds % 1000000000
    nanosleep(&time, NULL)


cdef int launch_on_host(Stream stream, aclrtHostFunc function, void *argument) except -1:
    require(<void *>api.aclrtLaunchHostFunc, "aclrtLaunchHostFunc")
    use_device(stream.slot.device)
    with nogil:
        check(api.aclrtLaunchHostFunc(stream.slot.handle, function, argument), b"aclrtLaunchHostFunc")
    return 0


def launch_host_function(Stream stream not None, function):
    """Calls `function` on a thread of the driver when the work before it is done; later work waits for it."""
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    Py_INCREF(function)
    try:
        launch_on_host(stream, call, <void *>function)
    except BaseException:
        Py_DECREF(function)
        raise


def is_current_capturing():
    """Whether the calling thread's current stream stores its work in a graph. Starts no device."""
    return is_capturing(thread_state().device)


def sleep(Stream stream not None, intptr_t nanoseconds):
    """Keeps the stream busy for so long."""
    launch_on_host(stream, rest, <void *>nanoseconds)
