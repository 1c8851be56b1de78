"""torch.futures: results that another thread sets later."""
from __future__ import annotations

import threading
import traceback
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch import device

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that is to come. `devices` is checked: what was set is handed out as it is, in the setter's order.

    Arguments:
        devices: the devices on which the value may lie, as a list

    Example:
        >>> future = torch.futures.Future()
        >>> future.set_result(3)
        >>> future.then(lambda done: done.value() + 1).wait()
        4
    """

    def __init__(self, *, devices: list[int | str | device] | None = None) -> None:
        from mindtorch import device
        for place in map(device, devices or ()):
            if place.index is None:
                raise ValueError(f"Expected devices to have indices, got {place}")
        self._changed = threading.Condition()
        self._done, self._value, self._error, self._callbacks = False, None, None, []

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __getstate__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether a result or an exception has been set."""
        return self._done

    def wait(self) -> Any:
        """The result, once it is there; raises the exception that was set."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> Any:
        """The result. RuntimeError while there is none; raises the exception that was set."""
        if not self._done:
            raise RuntimeError("value() of a Future that is not completed: call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Complete it. RuntimeError if it is completed already."""
        self._complete(result, None)

    def set_exception(self, result: Any) -> None:
        """Complete it with an exception, which wait() raises."""
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not an Exception."
        self._complete(None, result)

    def _complete(self, value, error):
        with self._changed:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can "
                                   "only be marked completed once.")
            self._done, self._value, self._error = True, value, error
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    def _when_done(self, callback):
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback()

    def then(self, callback: Any) -> Any:
        """A Future of what `callback` returns of this one, which it is called with once this one is completed."""
        _require_callable(callback, "then")
        following = Future()

        def follow():
            try:
                result = callback(self)
            except Exception as error:          # noqa: BLE001 - wait() of the Future that follows raises it
                following.set_exception(_callback_error(error))
            else:
                following.set_result(result)
        self._when_done(follow)
        return following

    def add_done_callback(self, callback: Any) -> None:
        """Call `callback` with this Future once it is completed. What it raises is a warning, and changes nothing."""
        _require_callable(callback, "add_done_callback")

        def call():
            try:
                callback(self)
            except Exception as error:          # noqa: BLE001 - whoever completes the Future is not to blame
                warnings.warn(str(_callback_error(error)), stacklevel=2)
        self._when_done(call)


def _require_callable(callback, name):
    if not callable(callback):
        raise TypeError(f"{name}(): incompatible function arguments: expected a callable, got {callback!r}")


def _callback_error(error):
    kind = f"{type(error).__name__}: {error}"
    places = "".join(f"  {frame.filename}({frame.lineno}): {frame.name}\n"
                     for frame in reversed(traceback.extract_tb(error.__traceback__)))
    return RuntimeError(f"Got the following error when running the callback: {kind}\n\nAt:\n{places}")


def _without_none(futures):
    futures = list(futures)
    if any(future is None for future in futures):
        raise RuntimeError("Future can't be None")
    return futures


def collect_all(futures: list[Future]) -> Future[list[Future]]:
    """A Future of the list of these, completed when all are; with the first exception that one of them has.

    Arguments:
        futures: the futures

    Example:
        >>> futures = [torch.futures.Future(), torch.futures.Future()]
        >>> for number, future in enumerate(futures):
        ...     future.set_result(number)
        >>> [done.value() for done in torch.futures.collect_all(futures).wait()]
        [0, 1]
    """
    futures, collected, lock = _without_none(futures), Future(), threading.Lock()
    waiting = len(futures)

    def count(_):
        nonlocal waiting
        with lock:
            waiting -= 1
            last = waiting == 0
        if last:
            complete()

    def complete():
        error = next((future._error for future in futures if future._error is not None), None)
        if error is not None:
            collected.set_exception(error)
        else:
            collected.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    if not futures:
        complete()
    return collected


def wait_all(futures: list[Future]) -> list:
    """The results of these, once all are there; raises the first exception.

    Arguments:
        futures: the futures

    Example:
        >>> future = torch.futures.Future()
        >>> future.set_result(3)
        >>> torch.futures.wait_all([future])
        [3]
    """
    return [future.wait() for future in collect_all(futures).wait()]
