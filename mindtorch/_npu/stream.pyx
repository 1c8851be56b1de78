"""torch.npu.Stream, and the calling thread's current stream.

A Stream object holds a record of handles.pyx. When the last object for a record goes, the driver's stream is not
destroyed: it is idle, and the next Stream() or empty_cache() finds it.
"""
import threading

from libc.stdint cimport intptr_t

from mindtorch._core.device import device as torch_device
from mindtorch._npu.index import get_device_index

from mindtorch._core.device cimport BACKENDS, NPU
from mindtorch._npu.cann.acl_rt cimport ACL_STREAM_STATUS_COMPLETE, aclrtStreamStatus
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport (
    current_stream, default_stream, give_event, record, take_event, take_stream, thread_state, use_device,
    wait_for_stream)
from mindtorch._npu.records cimport EventSlot, StreamSlot
from mindtorch._npu.symbols cimport api

# The Stream objects behind thread_state().streams: they keep the records from being idle, until the thread ends.
_current = threading.local()


cdef class Stream:
    """Stream(device=None, priority=0): a queue of work on one device; work of different streams may overlap.

    Streams are handed out again when nobody holds them, so two objects may compare equal: then they are one queue.
    """

    def __init__(self, device=None, int priority=0):
        if self.slot == NULL:
            self.slot = take_stream(get_device_index(device, optional=True), -1 if priority < 0 else 0)

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
    def stream_id(self):
        return self.slot.number

    @property
    def npu_stream(self):
        """The driver's aclrtStream, as an int."""
        return <intptr_t>self.slot.handle

    @property
    def _as_parameter_(self):
        import ctypes
        return ctypes.c_void_p(<intptr_t>self.slot.handle)

    @property
    def priority(self):
        return self.slot.priority

    def query(self):
        """Whether all work submitted so far is done."""
        cdef aclrtStreamStatus status
        use_device(self.slot.device)
        check(api.aclrtStreamQuery(self.slot.handle, &status), b"aclrtStreamQuery")
        return status == ACL_STREAM_STATUS_COMPLETE

    def synchronize(self):
        """Waits for all work submitted so far."""
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
        cdef EventSlot *event = take_event(stream.slot.device, False)
        try:
            record(event, stream.slot)
            use_device(self.slot.device)
            with nogil:
                check(api.aclrtStreamWaitEvent(self.slot.handle, event.handle), b"aclrtStreamWaitEvent")
        finally:
            give_event(event)        # a wait is for the record it saw; recording anew does not disturb it

    def __eq__(self, other):
        return isinstance(other, Stream) and self.slot == (<Stream>other).slot

    def __hash__(self):
        return hash((<intptr_t>self.slot.handle, self.slot.device))

    def __repr__(self):
        return f"<mindtorch.npu.Stream device=npu:{self.slot.device} npu_stream={<intptr_t>self.slot.handle:#x}>"


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
