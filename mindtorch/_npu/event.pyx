"""torch.npu.Event."""
from libc.stdint cimport intptr_t, uint64_t
from libc.string cimport memcpy

from mindtorch._core.device import device as torch_device
from mindtorch._npu.index import get_device_index

from mindtorch._npu.cann.acl_base_rt cimport aclrtEvent
from mindtorch._npu.cann.acl_rt cimport aclrtIpcEventHandle
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport (
    FLAG_EVENT, IPC_EVENT, PLAIN_EVENT, TIMING_EVENT, adopt_event, captures, current_stream, give_event,
    is_complete, join_capture, record, take_event, thread_state, use_device)
from mindtorch._npu.records cimport EventSlot, StreamSlot
from mindtorch._npu.stream cimport Stream
from mindtorch._npu.symbols cimport api, require


cdef class Event:
    """Event(enable_timing=False, blocking=False, interprocess=False): a point in a stream's work.

    The driver's event is made at the first record; one that was never recorded counts as complete. `blocking` changes
    nothing: whoever waits always sleeps. An event for several processes takes no times.
    """
    cdef EventSlot *slot
    cdef int kind

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess and enable_timing:
            raise RuntimeError("Parameter interprocess cannot be specified together with other parameters.")
        self.kind = IPC_EVENT if interprocess else TIMING_EVENT if enable_timing else PLAIN_EVENT

    def __dealloc__(self):
        if self.slot != NULL:
            give_event(self.slot)

    @property
    def device(self):
        return None if self.slot == NULL else torch_device("npu", self.slot.device)

    @property
    def npu_event(self):
        """The driver's aclrtEvent, as an int; 0 before the first record."""
        return 0 if self.slot == NULL else <intptr_t>self.slot.handle

    @property
    def event_id(self):
        """npu_event under the name that torch.Event has for it."""
        return self.npu_event

    @property
    def _as_parameter_(self):
        import ctypes
        return ctypes.c_void_p(self.npu_event)

    def record(self, stream=None):
        """Marks the end of the work submitted so far to `stream` (None: the current one); may be called again."""
        cdef StreamSlot *on = chosen_stream(stream)
        if self.slot == NULL:
            return self.record_first(on)
        if self.slot.device != on.device:
            raise RuntimeError(f"Event device npu:{self.slot.device} does not match recording stream's device "
                               f"npu:{on.device}.")
        record(self.slot, on)

    cdef record_first(self, StreamSlot *stream):
        cdef EventSlot *slot = take_event(stream.device, self.kind)
        try:
            record(slot, stream)
            self.slot, slot = slot, self.slot        # where another thread was faster, its event goes
        finally:
            if slot != NULL:
                give_event(slot)

    def wait(self, stream=None):
        """Later work of `stream` (None: the current one) waits for this event."""
        cdef StreamSlot *waiting
        if self.slot == NULL and stream is None:
            return
        waiting = chosen_stream(stream)
        if self.slot == NULL:
            return
        use_device(waiting.device)
        with nogil:
            check(api.aclrtStreamWaitEvent(waiting.handle, self.slot.handle), b"aclrtStreamWaitEvent")
        if captures != 0:
            join_capture(waiting)

    def query(self):
        """Whether the work before the last record is done."""
        return self.slot == NULL or bool(is_complete(self.slot))

    def synchronize(self):
        """Waits until the work before the last record is done."""
        if self.slot == NULL:
            return
        use_device(self.slot.device)
        with nogil:
            check(api.aclrtSynchronizeEvent(self.slot.handle), b"aclrtSynchronizeEvent")

    def elapsed_time(self, end_event):
        """Milliseconds from this event to `end_event`, as a float; waits for both."""
        cdef Event end
        cdef float milliseconds = 0
        if not isinstance(end_event, Event):
            raise RuntimeError("expected other to be a torch.Event object")
        end = <Event>end_event
        if self.slot == NULL or end.slot == NULL:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if self.kind != TIMING_EVENT or end.kind != TIMING_EVENT:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        self.synchronize()
        end.synchronize()
        check(api.aclrtEventElapsedTime(&milliseconds, self.slot.handle, end.slot.handle), b"aclrtEventElapsedTime")
        return milliseconds

    def recorded_time(self):
        """When the work before the last record was done, in microseconds of the device's clock."""
        cdef uint64_t microseconds = 0
        if self.slot == NULL:
            raise RuntimeError("Event must be recorded before getting recorded timestamp.")
        if self.kind != TIMING_EVENT:
            raise ValueError("The event must be created with argument 'enable_timing=True'.")
        require(<void *>api.aclrtEventGetTimestamp, "aclrtEventGetTimestamp")
        self.synchronize()
        check(api.aclrtEventGetTimestamp(self.slot.handle, &microseconds), b"aclrtEventGetTimestamp")
        return microseconds

    def ipc_handle(self):
        """The event as bytes that `from_ipc_handle` of another process takes. It must be made for several processes."""
        cdef aclrtIpcEventHandle handle
        if self.kind != IPC_EVENT:
            raise RuntimeError("ipc_handle() needs an event made with interprocess=True")
        use_device(thread_state().device if self.slot == NULL else self.slot.device)
        require(<void *>api.aclrtIpcGetEventHandle, "aclrtIpcGetEventHandle")
        if self.slot == NULL:
            self.slot = take_event(thread_state().device, IPC_EVENT)
        check(api.aclrtIpcGetEventHandle(self.slot.handle, &handle), b"aclrtIpcGetEventHandle")
        return (<char *>&handle)[:sizeof(handle)]

    @classmethod
    def from_ipc_handle(cls, device, handle):
        """The event of another process, on `device`, from the bytes that its `ipc_handle` gave."""
        cdef Event event = cls(interprocess=True)
        cdef aclrtIpcEventHandle raw
        cdef aclrtEvent opened = NULL
        cdef bytes content = handle
        cdef int index = get_device_index(device, optional=True)
        if len(content) != sizeof(raw):
            raise ValueError(f"an event's handle is {sizeof(raw)} bytes, got {len(content)}")
        use_device(index)
        require(<void *>api.aclrtIpcOpenEventHandle, "aclrtIpcOpenEventHandle")
        memcpy(&raw, <char *>content, sizeof(raw))
        check(api.aclrtIpcOpenEventHandle(raw, &opened), b"aclrtIpcOpenEventHandle")
        event.slot = adopt_event(index, opened)
        return event

    def __repr__(self):
        if self.slot == NULL:
            return f"<mindtorch.npu.{type(self).__name__} uninitialized>"
        return f"<mindtorch.npu.{type(self).__name__} {<intptr_t>self.slot.handle:#x}>"


cdef class ExternalEvent(Event):
    """ExternalEvent(): a flag that a record raises and reset() takes down; streams may wait before its record."""

    def __init__(self):
        self.kind = FLAG_EVENT

    def wait(self, stream=None):
        """Later work of `stream` (None: the current one) waits until the flag is up."""
        if self.slot == NULL:
            self.slot = take_event(chosen_stream(stream).device, FLAG_EVENT)
        Event.wait(self, stream)

    def reset(self, stream=None):
        """Takes the flag down when `stream` (None: the current one) has done its work so far."""
        cdef StreamSlot *on
        if self.slot == NULL:
            return
        on = chosen_stream(stream)
        require(<void *>api.aclrtResetEvent, "aclrtResetEvent")
        use_device(on.device)
        with nogil:
            check(api.aclrtResetEvent(self.slot.handle, on.handle), b"aclrtResetEvent")


cdef StreamSlot *chosen_stream(object stream) except NULL:
    if stream is None:
        return current_stream(thread_state().device)
    return (<Stream?>stream).slot
