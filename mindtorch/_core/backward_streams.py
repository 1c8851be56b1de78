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

    def synchronize_gradient(self, grad, giver, taker):
        """Have `taker` wait for a gradient that a node on `giver` made, and keep its memory until `taker` used it."""
        if taker is None:
            return
        maker = hooks.current_stream(taker.device_index)     # of a copy from another device: not the giver
        for stream in {maker, giver} - {taker, None}:
            taker.wait_stream(stream)
        if maker != taker and grad.is_npu:
            grad.record_stream(taker)

    def leave(self):
        """The thread's streams as before; they wait for all that backward did."""
        for device, stream in self.before.items():
            hooks.set_stream(stream)
            for used in self.used:
                if used.device_index == device and used != stream:
                    stream.wait_stream(used)
