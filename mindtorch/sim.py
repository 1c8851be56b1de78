"""The simulated CANN toolkit: its folder, live objects, and injected faults.

    python -m mindtorch.sim            prints the root of the toolkit

Any ACL program can use that root. The functions here call its ``libascendcl.so`` directly, so they work
without the compiled parts of mindtorch, and they act on the same library that a program in this process has loaded.

Faults, counts and latencies hold for what the program calls while they are set, also where another thread launches it
(``TASK_QUEUE_ENABLE``): these functions wait until that thread has made the launches before. Only `calls` does not.
"""
import sys

if __name__ == "__main__" and __package__ is None:
    sys.path.pop(0)         # of a file that runs by itself: our types.py and __future__.py are torch's, not Python's

import contextlib
import ctypes
import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

__all__ = ["calls", "clear_faults", "cost", "counting", "fault", "inject_device_fault", "inject_fault",
           "inject_memory_error", "live_objects", "record_reads", "repeat_reads", "run_kernels", "set_latency",
           "toolkit"]

BLAS = "MINDTORCH_SIM_BLAS"          # names the library that the kernels multiply matrices with
ACL_ERROR_FAILURE = 500001
ACL_ERROR_RT_AICORE_EXCEPTION = 507015

_PROTOTYPES = {
    "simLive": (ctypes.c_int64, [ctypes.c_int]),
    "simKindName": (ctypes.c_char_p, [ctypes.c_int]),
    "simInjectFault": (None, [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int]),
    "simClearFaults": (None, []),
    "simInjectDeviceFault": (None, [ctypes.c_int32, ctypes.c_int]),
    "simInjectMemoryError": (None, [ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64]),
    "simSetLatency": (None, [ctypes.c_char_p, ctypes.c_int64]),
    "simSetNullKernels": (None, [ctypes.c_int32]),
    "simNullKernels": (ctypes.c_int32, []),
    "simSetReads": (None, [ctypes.c_int32]),
    "simCountCalls": (None, [ctypes.c_int32]),
    "simCalls": (ctypes.c_int64, [ctypes.c_char_p]),
    "simFunctions": (ctypes.c_char_p, []),
    "simCost": (ctypes.c_int64, [ctypes.c_char_p]),
}


def toolkit() -> Path:
    """The root of the simulated toolkit, laid out like an installed CANN.

    Example:
        >>> (torch.sim.toolkit() / "lib64" / "libascendcl.so").exists()
        True
    """
    return Path(__file__).resolve().parent / "_sim" / "toolkit"


def name_blas():
    """Tell the kernels, which load their BLAS with the first product, where this Python has it. Loads nothing."""
    package = importlib.util.find_spec("scipy_openblas32")
    if package is not None:
        os.environ.setdefault(BLAS, str(Path(package.origin).with_name("lib") / "libscipy_openblas.so"))


before_calls: list = []              # functions that make what the program has called but not launched yet


def _library() -> ctypes.CDLL:
    for function in before_calls:
        function()
    return _opened_library()


@functools.cache
def _opened_library() -> ctypes.CDLL:
    path = toolkit() / "lib64" / "libascendcl.so"
    if not path.is_file():
        raise FileNotFoundError(f"the simulated toolkit is not built: {path} is missing")
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def live_objects() -> dict[str, int]:
    """How many objects of each kind are alive: ``{"stream": 1, "tensor": 3}``. Kinds without any are left out.

    Example:
        >>> isinstance(torch.sim.live_objects(), dict)
        True
    """
    library, live, kind = _library(), {}, 0
    while (name := library.simKindName(kind)) is not None:
        if count := library.simLive(kind):
            live[name.decode()] = count
        kind += 1
    return live


def inject_fault(function: str, nth: int = 1, code: int = ACL_ERROR_FAILURE, times: int = 1) -> None:
    """Make the `nth` call of `function` from now (1: the next one) fail with `code`, `times` calls in a row.

    The failing call has no other effect. A later injection into the same function replaces this one.

    Arguments:
        function: the name of a function of CANN, such as "aclrtMalloc"
        nth: which call from now; 1 is the next
        code: the error code that it returns
        times: how many calls in a row fail

    Example:
        >>> torch.sim.inject_fault("aclrtMalloc", nth=2)
        >>> torch.sim.clear_faults()
    """
    if nth < 1 or times < 1:
        raise ValueError(f"nth and times count from 1, got nth={nth}, times={times}")
    _library().simInjectFault(function.encode(), nth, times, code)


def inject_device_fault(code: int = ACL_ERROR_RT_AICORE_EXCEPTION, device: int = 0) -> None:
    """Make the next task that `device` runs fail with `code`.

    As on hardware, it surfaces on a later call (a synchronise, a copy, the next launch), and the device is unusable
    until it is reset.

    Arguments:
        code: the error code of the device
        device: the number of the NPU

    Example:
        >>> torch.sim.inject_device_fault()
        >>> torch.sim.clear_faults()
    """
    _library().simInjectDeviceFault(device, code)


def inject_memory_error(address: int, nbytes: int, device: int = 0) -> None:
    """Let the device say, until `clear_faults`, that it cannot correct an error in `nbytes` of memory at `address`.

    Arguments:
        address: where the memory begins
        nbytes: the number of bytes
        device: the number of the NPU

    Example:
        >>> x = torch.ones(2, device="npu")
        >>> torch.sim.inject_memory_error(x.data_ptr(), 8)
        >>> torch.sim.clear_faults()
    """
    _library().simInjectMemoryError(device, address, nbytes)


def clear_faults() -> None:
    """Take back every fault that has not happened yet, every error of memory and every latency.

    Example:
        >>> torch.sim.inject_fault("aclrtMalloc")
        >>> torch.sim.clear_faults()
        >>> torch.ones(2, device="npu")
        tensor([1., 1.], device='npu:0')
    """
    _library().simClearFaults()


@contextlib.contextmanager
def fault(function: str, nth: int = 1, code: int = ACL_ERROR_FAILURE, times: int = 1) -> Any:
    """`inject_fault` for the length of a ``with`` block.

    Arguments:
        function: the name of a function of CANN, such as "aclrtMalloc"
        nth: which call from now; 1 is the next
        code: the error code that it returns
        times: how many calls in a row fail

    Example:
        >>> try:
        ...     with torch.sim.fault("aclrtSynchronizeDevice"):
        ...         torch.npu.synchronize()
        ... except RuntimeError as error:
        ...     print("failed:", "aclrtSynchronizeDevice" in str(error))
        failed: True
    """
    inject_fault(function, nth, code, times)
    try:
        yield
    finally:
        _library().simInjectFault(function.encode(), 0, 0, 0)


def set_latency(function: str, ns: int) -> None:
    """Let every call of `function` take `ns` nanoseconds longer (0: no longer).

    Arguments:
        function: the name of a function of CANN, such as "aclrtMalloc"
        ns: the nanoseconds; 0 means none

    Example:
        >>> torch.sim.set_latency("aclrtMalloc", 1000)
        >>> torch.sim.clear_faults()
    """
    _library().simSetLatency(function.encode(), ns)


def cost(function: str) -> int:
    """Nanoseconds that a call of `function` keeps its thread in the model of ``MINDTORCH_SIM_COST``; 0 without one.

    ``"phase1"``, ``"phase1.hit"`` and ``"phase2"`` are what operators cost; `counting` counts them as calls.

    Arguments:
        function: the name of a function of CANN, such as "aclrtMalloc"

    Example:
        >>> torch.sim.cost("aclrtMalloc")
        0
    """
    return _library().simCost(function.encode())


@contextlib.contextmanager
def run_kernels(run: bool = True) -> Any:
    """Whether the kernels launched in the block compute, or are left out as by ``MINDTORCH_SIM_KERNELS=null``.

    Arguments:
        run: whether kernels compute

    Example:
        >>> x = torch.ones(2, device="npu")
        >>> with torch.sim.run_kernels(False):
        ...     _ = x.zero_()
        >>> x
        tensor([1., 1.], device='npu:0')
    """
    before = _library().simNullKernels()
    _library().simSetNullKernels(not run)
    try:
        yield
    finally:
        _library().simSetNullKernels(before)


@contextlib.contextmanager
def _reads(mode):
    _library().simSetReads(mode)
    try:
        yield
    finally:
        _library().simSetReads(0)


def record_reads() -> Any:
    """In the block, put on record what copies from the device bring the host. Forgets what was on record.

    Example:
        >>> x = torch.ones(2, device="npu")
        >>> with torch.sim.record_reads():
        ...     _ = x.cpu()
        >>> with torch.sim.repeat_reads():
        ...     x.zero_().cpu()             # what was on record
        tensor([1., 1.])
    """
    return _reads(1)


def repeat_reads() -> Any:
    """In the block, copies from the device bring what is on record, one by one and then again from the first.

    With it code that reads results takes the same path with null kernels as it took with others. A copy of another
    number of bytes than the one on record fails.

    Example:
        >>> x = torch.ones(2, device="npu")
        >>> with torch.sim.record_reads():
        ...     _ = x.cpu()
        >>> with torch.sim.repeat_reads():
        ...     x.zero_().cpu()
        tensor([1., 1.])
    """
    return _reads(2)


def calls(function: str) -> int:
    """How often `function` was called inside the latest `counting` block.

    Arguments:
        function: the name of a function of CANN, such as "aclrtMalloc"

    Example:
        >>> with torch.sim.counting():
        ...     torch.npu.synchronize()
        >>> torch.sim.calls("aclrtSynchronizeDevice")
        1
    """
    return _opened_library().simCalls(function.encode())


class _Counts(dict):
    """Calls by function name; complete when the block has ended."""

    def __missing__(self, function: Any) -> Any:
        return 0

    def operators(self) -> Any:
        """How often each operator was launched: the calls of second phases. A cache of executors spares the first."""
        return {name: n for name, n in self.items() if n and name.startswith("aclnn")
                and not name.endswith("GetWorkspaceSize") and name not in ("aclnnInit", "aclnnFinalize")}


@contextlib.contextmanager
def counting() -> Any:
    """Count the calls of every function of the toolkit: ``with counting() as counts: ...; counts["aclrtMalloc"]``.

    ``counts.operators()`` has the operators that were launched.

    Example:
        >>> with torch.sim.counting() as counts:
        ...     _ = torch.ones(2, device="npu").add(1).cpu()
        >>> counts["aclnnAdds"]
        1
    """
    counts = _Counts()
    _library().simCountCalls(1)
    try:
        yield counts
    finally:
        _library().simCountCalls(0)
        counts.update({name: calls(name) for name in _library().simFunctions().decode().split()})


if __name__ == "__main__":
    print(toolkit())
