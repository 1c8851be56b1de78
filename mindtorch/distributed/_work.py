"""Work: a collective that has been started."""
from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

from mindtorch.distributed._options import OpType
from mindtorch.futures import Future

__all__ = ["CompletedWork", "FutureWork", "Work", "_create_work_from_future"]

NO_TIMEOUT = timedelta(0)


class Work:
    """A collective that has been started. An engine derives from it, or calls `finish` from another thread.

    Arguments:
        op_type: the kind of operation

    Example:
        >>> x = torch.ones(2)
        >>> work = dist.all_reduce(x, async_op=True)
        >>> work.wait(), work.is_completed()
        (True, True)
    """

    def __init__(self, op_type: OpType = OpType.UNKNOWN) -> None:
        self._op_type = op_type
        self._finished = threading.Event()
        self._error = None

    def finish(self, error: BaseException | None = None) -> None:
        """Mark it as completed, with an error or without."""
        self._error = error
        self._finished.set()

    def is_completed(self) -> bool:
        """Whether it has ended, with or without an error."""
        return self._finished.is_set()

    def is_success(self) -> bool:
        """Whether no error has been found."""
        return self._error is None

    def exception(self) -> BaseException | None:
        """The error that it ended with."""
        return self._error

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Wait until it is completed: the current thread for the CPU, the current stream for a device. Raises its
        error, or a RuntimeError after `timeout`; 0 is none."""
        if not self._finished.wait(timeout.total_seconds() or None):
            raise RuntimeError(f"Operation timed out after {timeout}!")
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """Make the current stream of a device wait for it. Nothing on the CPU."""

    def block_current_stream(self) -> None:
        """Make the current stream of a device wait for it, without the host."""
        self.wait()

    def result(self) -> Any:
        """The tensors that it writes to."""
        raise RuntimeError("result() not implemented.")

    def get_future(self) -> Future:
        """A Future of the tensors that it writes to."""
        raise RuntimeError("Work::getFuture not implemented.")

    def get_future_result(self) -> Future:
        """A Future of how it ended."""
        raise RuntimeError("Work::getFutureResult not implemented.")

    def source_rank(self) -> int:
        """The rank of the group that a receive took its message from."""
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or "
                           "recv-from-any call.")

    _source_rank = source_rank

    def _get_op_type(self) -> int:
        return self._op_type.value

    def boxed(self) -> Work:
        """Itself: no TorchScript stands between."""
        return self

    unbox = staticmethod(lambda work: work)


class CompletedWork(Work):
    """A collective that has been done when it is made, such as one of a group of a single rank."""

    def __init__(self, op_type: OpType = OpType.UNKNOWN, tensors: Any = ()) -> None:
        super().__init__(op_type)
        self._tensors = list(tensors)
        self._finished.set()

    def result(self) -> Any:
        return self._tensors

    def get_future(self) -> Future:
        future = Future()
        future.set_result(self._tensors)
        return future


class FutureWork(Work):
    """A collective that a Future stands for."""

    def __init__(self, future: Future, op_type: OpType = OpType.UNKNOWN) -> None:
        super().__init__(op_type)
        self._future = future
        future.add_done_callback(lambda done: self.finish(done._error))

    def result(self) -> Any:
        return self._future.value()

    def get_future(self) -> Future:
        return self._future


def _create_work_from_future(future: Future) -> Work:
    """The Work that waits for a Future."""
    return FutureWork(future)
