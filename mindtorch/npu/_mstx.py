"""torch.npu.mstx: markers for the profilers of CANN (msprof, MSPTI), by the toolkit's libms_tools_ext.so."""
from __future__ import annotations

import ctypes
import functools
import threading
import warnings
from typing import Any

from mindtorch import npu

DEFAULT_DOMAIN = "default"
_PROTOTYPES = {                  # arguments, result
    "mstxMarkA": ([ctypes.c_char_p, ctypes.c_void_p], None),
    "mstxRangeStartA": ([ctypes.c_char_p, ctypes.c_void_p], ctypes.c_uint64),
    "mstxRangeEnd": ([ctypes.c_uint64], None),
    "mstxDomainCreateA": ([ctypes.c_char_p], ctypes.c_void_p),
    "mstxDomainMarkA": ([ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], None),
    "mstxDomainRangeStartA": ([ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.c_uint64),
    "mstxDomainRangeEnd": ([ctypes.c_void_p, ctypes.c_uint64], None),
}
_pushed = threading.local()      # .ranges: ids of the calling thread's open ranges, innermost last


@functools.cache
def _library():
    """The library; None where the toolkit has none, as the simulated one."""
    from mindtorch._npu import toolkit
    try:
        path = toolkit.find_library(toolkit.find().root, "libms_tools_ext.so")
    except RuntimeError:         # there is no toolkit at all
        path = None
    if path is None:
        return None
    library = ctypes.CDLL(str(path))
    for name, (arguments, result) in _PROTOTYPES.items():
        if hasattr(library, name):
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, result
    return library


@functools.cache
def _domain(name):
    """The handle of a domain; None where the library is too old to have any."""
    library = _library()
    return library.mstxDomainCreateA(name.encode()) if hasattr(library, "mstxDomainCreateA") else None


def _call(function, domain, *arguments):
    """Calls mstx<function>, or mstxDomain<function> for another domain than the default one; 0 where there is none."""
    library = _library()
    if library is None:
        return 0
    if domain == DEFAULT_DOMAIN:
        return getattr(library, f"mstx{function}")(*arguments)
    handle = _domain(domain)
    return 0 if handle is None else getattr(library, f"mstxDomain{function}")(handle, *arguments)


def _valid(function, **arguments):
    """Whether all of the arguments are good; else a warning names one that is not: no mark is worth an exception."""
    for name, good in arguments.items():
        if not good:
            warnings.warn(f"Invalid {name} for mstx.{function} func, nothing is marked", UserWarning, stacklevel=3)
            return False
    return True


def _is_text(value):
    return isinstance(value, str) and value != ""


def _is_stream(value):
    return value is None or isinstance(value, npu.Stream)


def _handle(stream):
    return None if stream is None else stream.npu_stream


class mstx:
    """Marks and ranges for CANN's profilers. They have no effect on the simulator, which has no profiler.

    `message`: up to 156 bytes. `stream`: None marks the host timeline only; a Stream also that of the device.

    Example:
        >>> torch.npu.mstx.mark("before the step")
        >>> number = torch.npu.mstx.range_start("step")
        >>> x = torch.ones(2, device="npu") + 1
        >>> torch.npu.mstx.range_end(number)
    """

    @staticmethod
    def mark(message: Any, stream: Any = None, domain: Any = DEFAULT_DOMAIN) -> None:
        """Marks the current time."""
        if _valid("mark", message=_is_text(message), stream=_is_stream(stream), domain=_is_text(domain)):
            _call("MarkA", domain, message.encode(), _handle(stream))

    @staticmethod
    def range_start(message: Any, stream: Any = None, domain: Any = DEFAULT_DOMAIN) -> Any:
        """Starts a range and returns its id for range_end; 0 without a profiler."""
        if _valid("range_start", message=_is_text(message), stream=_is_stream(stream), domain=_is_text(domain)):
            return _call("RangeStartA", domain, message.encode(), _handle(stream))
        return 0

    @staticmethod
    def range_end(range_id: Any, domain: Any = DEFAULT_DOMAIN) -> None:
        """Ends a range of range_start."""
        known = isinstance(range_id, int) and 0 <= range_id < 1 << 64
        if _valid("range_end", range_id=known, domain=_is_text(domain)):
            _call("RangeEnd", domain, range_id)

    @staticmethod
    def range_push(message: Any, stream: Any = None, domain: Any = DEFAULT_DOMAIN) -> Any:
        """Starts a nested range of this thread; returns its depth, 0 for the outermost."""
        if not hasattr(_pushed, "ranges"):
            _pushed.ranges = []
        _pushed.ranges.append((mstx.range_start(message, stream, domain), domain))
        return len(_pushed.ranges) - 1

    @staticmethod
    def range_pop() -> Any:
        """Ends the innermost range of range_push; returns its depth, -1 if there is none."""
        ranges = getattr(_pushed, "ranges", [])
        if ranges:
            mstx.range_end(*ranges.pop())
            return len(ranges)
        return -1

    @staticmethod
    def mstx_range(message: Any, stream: Any = None, domain: Any = DEFAULT_DOMAIN) -> Any:
        """A decorator: each call of the function is a range."""
        def decorate(function):
            @functools.wraps(function)
            def marked(*arguments, **options):
                number = mstx.range_start(message, stream, domain)
                try:
                    return function(*arguments, **options)
                finally:
                    mstx.range_end(number, domain)
            return marked
        return decorate
