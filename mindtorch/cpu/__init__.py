"""torch.cpu: the CPU as a device, for code that asks any device's module the same questions."""
from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch.types import Device

__all__ = ["Stream", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
           "set_device", "stream", "synchronize"]


class Stream:
    """The one stream of the CPU, on which everything is done when a call returns.

    Arguments:
        priority: not read: there is one stream

    Example:
        >>> stream = torch.cpu.Stream()
        >>> with torch.cpu.stream(stream):
        ...     torch.ones(1) + 1
        tensor([2.])
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Waits for nothing: what was begun is done."""

    def record_event(self) -> None:
        """Records nothing."""

    def wait_event(self, event: Any) -> None:
        """Waits for nothing."""


_STREAM = Stream()


def is_available() -> bool:
    """True.

    Example:
        >>> torch.cpu.is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """True.

    Example:
        >>> torch.cpu.is_initialized()
        True
    """
    return True


def device_count() -> int:
    """1.

    Example:
        >>> torch.cpu.device_count()
        1
    """
    return 1


def current_device() -> str:
    """ "cpu".

    Example:
        >>> torch.cpu.current_device()
        'cpu'
    """
    return "cpu"


def set_device(device: Device) -> None:
    """There is one CPU: changes nothing.

    Arguments:
        device: the CPU; not read

    Example:
        >>> torch.cpu.set_device("cpu")
        >>> torch.cpu.current_device()
        'cpu'
    """


def synchronize(device: Device = None) -> None:
    """Waits for nothing: what was begun is done.

    Arguments:
        device: the CPU; not read

    Example:
        >>> torch.cpu.synchronize()
    """


def current_stream(device: Device = None) -> Stream:
    """The one stream of the CPU.

    Arguments:
        device: the CPU; not read

    Example:
        >>> isinstance(torch.cpu.current_stream(), torch.cpu.Stream)
        True
    """
    return _STREAM


class Event:
    """A point in the work of the CPU, which is done when it is recorded.

    Example:
        >>> event = torch.cpu.Event()
        >>> event.record()
        >>> event.query()
        True
    """

    def query(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing: the work is done."""

    def wait(self, stream: Any = None) -> None:
        """Does nothing: the work is done."""


class StreamContext(nullcontext):
    """A context in which nothing is different."""


def stream(stream: Stream) -> Any:
    """A context in which nothing is different.

    Arguments:
        stream: not read: there is one stream

    Example:
        >>> with torch.cpu.stream(torch.cpu.current_stream()):
        ...     torch.ones(1) + 1
        tensor([2.])
    """
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("mindtorch.cpu.amp")
    raise AttributeError(f"module 'mindtorch.cpu' has no attribute '{name}'")
