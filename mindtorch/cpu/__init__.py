"""torch.cpu: the CPU as a device, for code that asks any device's module the same questions."""
from contextlib import nullcontext
from importlib import import_module

__all__ = ["Stream", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
           "set_device", "stream", "synchronize"]


class Stream:
    """The one stream of the CPU, on which everything is done when a call returns."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Waits for nothing: what was begun is done."""

    def record_event(self):
        """Records nothing."""

    def wait_event(self, event):
        """Waits for nothing."""


_STREAM = Stream()


def is_available():
    """True."""
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """ "cpu"."""
    return "cpu"


def set_device(device):
    """There is one CPU: changes nothing."""


def synchronize(device=None):
    """Waits for nothing: what was begun is done."""


def current_stream(device=None):
    """The one stream of the CPU."""
    return _STREAM


class StreamContext(nullcontext):
    """A context in which nothing is different."""


def stream(stream):
    """A context in which nothing is different."""
    return StreamContext(stream)


def __getattr__(name):
    if name == "amp":
        return import_module("mindtorch.cpu.amp")
    raise AttributeError(f"module 'mindtorch.cpu' has no attribute '{name}'")
