"""torch.Stream and torch.Event: of any device. Those of an NPU are torch.npu.Stream and torch.npu.Event."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from mindtorch._core.tensor.tensor import device as _device

if TYPE_CHECKING:
    from mindtorch.types import Device

__all__ = ["Event", "Stream"]

_NO_EVENTS = "cpu backend doesn't support events."
_NO_IPC = "torch.Event ipc is not supported yet, please open an issue if you need this!"


def _parse_device(name, arguments, options, known):
    """The device that a constructor has been given, and its options, checked."""
    if len(arguments) > 1:
        raise TypeError(f"{name}() takes from 0 to 1 positional arguments but {len(arguments)} were given")
    for option in options:
        if option not in known:
            raise TypeError(f"{name}() got an unexpected keyword argument '{option}'")
    chosen = arguments[0] if arguments else options.pop("device", None)
    if chosen is None:
        from mindtorch import accelerator
        chosen = accelerator.current_accelerator(check_available=True) or "cpu"
    if not isinstance(chosen, (_device, str, int)) or isinstance(chosen, bool):
        raise TypeError(f"{name}(): argument 'device' (position 1) must be torch.device, not {type(chosen).__name__}")
    chosen = _device(chosen)
    if chosen.type not in ("cpu", "npu"):
        raise RuntimeError(f"PyTorch is not linked with support for {chosen.type} devices")
    return chosen, options


class _GenericType(type):
    """Metaclass of Stream and Event: those of torch.npu count as subclasses."""

    def __instancecheck__(cls, instance: Any) -> Any:
        return issubclass(type(instance), cls)

    def __subclasscheck__(cls, other: Any) -> Any:
        from mindtorch import npu
        return type.__subclasscheck__(cls, other) or type.__subclasscheck__(getattr(npu, cls.__name__), other)


class _GenericStream(_GenericType):
    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        from mindtorch import npu
        if {"stream_id", "device_index", "device_type"} <= options.keys():
            if options["device_type"] == 0:
                return super().__call__(options["device_index"])
            return npu.Stream(**options)
        chosen, options = _parse_device("Stream", arguments, options, ("device", "priority"))
        return npu.Stream(chosen, **options) if chosen.type == "npu" else super().__call__(-1)


class Stream(metaclass=_GenericStream):
    """Stream(device=None, *, priority=0): a queue of work on the device, by default the current accelerator.

    A CPU stream has no pending work. RuntimeError for other devices than cpu and npu.

    Arguments:
        *arguments: as of the Stream of the accelerator, torch.npu.Stream
        **options: as of the Stream of the accelerator: device, priority

    Example:
        >>> stream = torch.Stream("npu")
        >>> with stream:
        ...     x = torch.ones(2, device="npu") * 3
        >>> stream.synchronize()
        >>> x.tolist()
        [3.0, 3.0]
    """

    device_type = stream_id = 0

    def __init__(self, device_index: Any) -> None:
        self.device_index = device_index
        self.device = _device("cpu")

    @property
    def native_handle(self) -> Any:
        """RuntimeError: a CPU stream has no handle."""
        raise RuntimeError("Backend doesn't support getting stream native handle.")

    def query(self) -> Any:
        """Whether all work submitted so far is done."""
        return True

    def synchronize(self) -> Any:
        """Waits for all work submitted so far."""

    def is_capturing(self) -> Any:
        """Whether the work is recorded in a graph."""
        return False

    def record_event(self, event: Any = None) -> Any:
        """RuntimeError: the CPU has no events."""
        raise RuntimeError(_NO_EVENTS)

    wait_event = wait_stream = record_event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None

    def __eq__(self, other: Any) -> bool:
        return type(other) is Stream and other.device_index == self.device_index

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return (f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
                f"stream_id={self.stream_id}")


class _GenericEvent(_GenericType):
    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        from mindtorch import npu
        chosen, options = _parse_device("Event", arguments, options,
                                        ("device", "enable_timing", "blocking", "interprocess"))
        return npu.Event(**options) if chosen.type == "npu" else super().__call__(**options)


class Event(metaclass=_GenericEvent):
    """Event(device=None, *, enable_timing=False, blocking=False, interprocess=False): a marker in a stream.

    Arguments:
        *arguments: as of the Event of the accelerator, torch.npu.Event
        **options: as of the Event of the accelerator: device, enable_timing, blocking, interprocess

    Example:
        >>> event = torch.Event("npu", enable_timing=True)
        >>> event.record()
        >>> event.synchronize()
        >>> event.query()
        True
    """

    event_id = 0

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device = _device("cpu")
        self._timing = bool(enable_timing)

    def record(self, stream: Any = None) -> Any:
        """RuntimeError: the CPU has no events."""
        raise RuntimeError(_NO_EVENTS)

    def query(self) -> Any:
        """Whether the work before the last record is done."""
        return True

    def wait(self, stream: Any = None) -> Any:
        """Later work of `stream` waits for this event."""

    def synchronize(self) -> Any:
        """Waits until the work before the last record is done."""

    def elapsed_time(self, end_event: Any) -> None:
        """Milliseconds from this event to `end_event`."""
        if not isinstance(end_event, Event):
            raise RuntimeError("expected other to be a torch.Event object")
        if not (self._timing and getattr(end_event, "_timing", False)):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise RuntimeError(_NO_EVENTS)

    def ipc_handle(self) -> Any:
        """NotImplementedError: events of the CPU are of one process."""
        raise NotImplementedError(_NO_IPC)

    @classmethod
    def from_ipc_handle(cls, device: Device, handle: Any) -> Any:
        """The event of another process, on an NPU."""
        if _device(device).type == "npu":
            from mindtorch import npu
            return npu.Event.from_ipc_handle(device, handle)
        raise NotImplementedError(_NO_IPC)

    def __repr__(self) -> str:
        return f"torch.Event device_type=cpu, device_index=-1, event_flag={int(self._timing)}, event_id=0"


Stream.__module__ = Event.__module__ = "mindtorch"
