"""torch.npu.Event."""
from libc.stdint cimport intptr_t

from mindtorch._core.device import device as torch_device

from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport (
    current_stream, give_event, is_complete, record, take_event, thread_state, use_device)
from mindtorch._npu.records cimport EventSlot, StreamSlot
from mindtorch._npu.stream cimport Stream
from mindtorch._npu.symbols cimport api


cdef class Event:
    """Event(enable_timing=False, blocking=False, interprocess=False): a point in a stream's work.

    The driver's event is made at the first record; one that was never recorded counts as complete.
    """
    cdef EventSlot *slot
    cdef bint timing

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("Event: interprocess=True is not available on npu")
        self.timing = bool(enable_timing)

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
        cdef EventSlot *slot = take_event(stream.device, self.timing)
        try:
            record(slot, stream)
            self.slot, slot = slot, self.slot        # where another thread was faster, its event goes
        finally:
            if slot != NULL:
                give_event(slot)

    def wait(self, stream=None):
        """Later work of `stream` (None: the current one) waits for this event."""
        cdef StreamSlot *waiting
        if self.slot == NULL:
            return
        waiting = chosen_stream(stream)
        use_device(waiting.device)
        with nogil:
            check(api.aclrtStreamWaitEvent(waiting.handle, self.slot.handle), b"aclrtStreamWaitEvent")

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
        cdef Event end = <Event?>end_event
        cdef float milliseconds = 0
        if not self.timing or not end.timing:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.slot == NULL or end.slot == NULL:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        self.synchronize()
        end.synchronize()
        check(api.aclrtEventElapsedTime(&milliseconds, self.slot.handle, end.slot.handle), b"aclrtEventElapsedTime")
        return milliseconds

    def __repr__(self):
        if self.slot == NULL:
            return "<mindtorch.npu.Event uninitialized>"
        return f"<mindtorch.npu.Event {<intptr_t>self.slot.handle:#x}>"


cdef StreamSlot *chosen_stream(object stream) except NULL:
    if stream is None:
        return current_stream(thread_state().device)
    return (<Stream?>stream).slot
