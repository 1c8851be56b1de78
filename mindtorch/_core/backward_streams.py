"""Backward with several streams: each node runs on the stream its forward ran on, after all that it needs.

The engine makes a BackwardStreams only where a thread has left the default stream; else there is nothing to order.
"""
from mindtorch._core import hooks


class BackwardStreams:
    """The streams of one backward, and what the calling thread's streams were before."""

    def __init__(self):
        self.before = {}            # device index -> the thread's current stream when backward came to the device
        self.used = set()

    def enter(self, stream):
        """Make `stream`, that of the next node, current. None, of a node on the CPU, changes nothing."""
        if stream is None:
            return
        current = hooks.current_stream(stream.device_index)
        self.before.setdefault(stream.device_index, current)
        self.used.add(stream)
        if stream != current:
            hooks.set_stream(stream)

    def synchronize_gradient(self, grad, producer, consumer):
        """Have `consumer` wait for a gradient of a node on `producer`, and keep its memory until `consumer` used it."""
        if consumer is None:
            return
        current = hooks.current_stream(consumer.device_index)   # it made the copy of a gradient of another device
        for stream in {current, producer} - {consumer, None}:
            consumer.wait_stream(stream)
        if current != consumer and grad.is_npu:
            grad.record_stream(consumer)

    def leave(self):
        """The thread's streams as before; they wait for all that backward did."""
        for device, stream in self.before.items():
            hooks.set_stream(stream)
            for used in self.used:
                if used.device_index == device and used != stream:
                    stream.wait_stream(used)
