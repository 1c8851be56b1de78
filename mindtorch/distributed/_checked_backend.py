"""The debug level DETAIL: before each collective the ranks compare what they are about to do, by the store."""
from __future__ import annotations

import os
import pickle
import sys
import sysconfig
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.distributed._backend import Backend
from mindtorch.distributed._options import reduction
from mindtorch.distributed._stores import DistStoreError, PrefixStore

if TYPE_CHECKING:
    from mindtorch.distributed._backend import DistributedBackendOptions

__all__ = ["CheckedBackend", "line_of_program"]

# Collectives in which tensors may differ between ranks. Only the name of the collective is compared.
_SHAPES_DIFFER = {"gather", "scatter", "alltoall", "alltoall_base", "reduce_scatter"}
_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = sysconfig.get_path("purelib"), sysconfig.get_path("platlib")      # stand in the library's folder


def _tensors(value):
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def _is_of_program(file):
    if file.startswith((_PACKAGE, "<frozen ")):
        return False
    return not file.startswith(_LIBRARY) or file.startswith(_INSTALLED)


def line_of_program(frame: Any = None) -> str:
    """The innermost line that led to the frame, or here, and is neither mindtorch's nor the standard library's."""
    frame = frame or sys._getframe()
    while frame is not None and not _is_of_program(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "unknown"


class CheckedBackend(Backend):
    """An engine that compares the ranks' calls before each collective."""

    def __init__(self, backend: Backend, options: DistributedBackendOptions) -> None:
        super().__init__(options.group_rank, options.group_size, options.timeout)
        self._backend, self._store = backend, PrefixStore("checks", options.store)
        self._ranks, self._compared = options.global_ranks_in_group, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    @property
    def supports_coalescing(self) -> bool:
        return self._backend.supports_coalescing

    def set_timeout(self, timeout: timedelta) -> None:
        super().set_timeout(timeout)
        self._backend.set_timeout(timeout)

    def _get_sequence_number_for_group(self) -> int:
        return self._backend._get_sequence_number_for_group()

    @property
    def wrapped_pg(self) -> Backend:
        """The engine."""
        return self._backend

    def _compare(self, name, arguments, opts):
        """RuntimeError with the ranks that called another collective or none."""
        self._compared += 1
        tensors = list(_tensors(arguments))
        what = {"operation": name, "dtypes": [str(tensor.dtype) for tensor in tensors[:1]],
                "device": [tensor.device.type for tensor in tensors[:1]],
                "root": getattr(opts, "rootRank", None),
                "reduction": str(reduction(opts.reduceOp)) if hasattr(opts, "reduceOp") else None}
        if name not in _SHAPES_DIFFER:
            what["shapes"] = [list(tensor.shape) for tensor in tensors]
        store, line = PrefixStore(str(self._compared), self._store), line_of_program()
        store.set(str(self._rank), pickle.dumps((what, line)))
        for other, ranked in enumerate(self._ranks):
            try:
                store.wait([str(other)], self._timeout)
            except DistStoreError:
                raise RuntimeError(
                    f"Detected that rank {ranked} has not called collective number {self._compared} of group "
                    f"{self._backend.group_name!r} within {self._timeout}: rank {self._ranks[self._rank]} is in "
                    f"{_described(what)} at {line}. Is rank {ranked} alive?") from None
            theirs, their_line = pickle.loads(store.get(str(other)))
            if theirs != what:
                raise RuntimeError(
                    f"Detected mismatch between collectives on ranks. Rank {self._ranks[self._rank]} is running "
                    f"collective: {_described(what)} at {line}, but Rank {ranked} is running collective: "
                    f"{_described(theirs)} at {their_line}.")
        if store.add("read", 1) == self._size:
            for other in range(self._size):
                store.delete_key(str(other))
            store.delete_key("read")


def _described(what):
    rest = ", ".join(f"{key}={value}" for key, value in what.items() if key != "operation" and value not in (None, []))
    return f"{what['operation'].strip('_').upper()}({rest})"


def _checking(name: str) -> Callable[..., Any]:
    def collective(self: CheckedBackend, *arguments: Any) -> Any:
        self._compare(name, arguments[:-1], arguments[-1])
        return getattr(self._backend, name)(*arguments)
    collective.__name__ = name
    return collective


_COMPARED = ("allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather", "_allgather_base",
             "allgather_coalesced", "allgather_into_tensor_coalesced", "reduce_scatter", "_reduce_scatter_base",
             "reduce_scatter_tensor_coalesced", "gather", "scatter", "alltoall", "alltoall_base", "barrier")
_FORWARDED = ("send", "recv", "recv_anysource", "monitored_barrier", "name", "shutdown", "abort", "_start_coalescing",
              "_end_coalescing", "eager_connect_single_device")


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: CheckedBackend, *arguments: Any) -> Any:
        return getattr(self._backend, name)(*arguments)
    method.__name__ = name
    return method


for _name in _COMPARED:
    setattr(CheckedBackend, _name, _checking(_name))
for _name in _FORWARDED:
    setattr(CheckedBackend, _name, _forwarded(_name))
