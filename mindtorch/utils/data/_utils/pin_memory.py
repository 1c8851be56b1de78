"""Batches in pinned memory, from which copies to the NPU need not wait."""
from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.utils.data._utils.containers import is_nested, map_values
from mindtorch.utils.data._utils.worker import Failure

if TYPE_CHECKING:
    from mindtorch.types import Device

__all__ = ["PinningThread", "pin_memory"]


def pin_memory(data: Any, device: Device = None) -> Any:
    """`data` with every tensor in it pinned; what has a method `pin_memory` does it itself."""
    if isinstance(data, mindtorch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    return map_values(pin_memory, data, tuples_to_lists=False) if is_nested(data) else data


class PinningThread:
    """Receives in the place of whoever iterates what the workers of a pool answer, and pins it meanwhile.

    It knows nothing of the iterator, so it keeps none alive; it ends when the pool is closed.
    """

    def __init__(self, pool: Any, device_index: Any) -> None:
        self._pinned = queue.SimpleQueue()
        thread = threading.Thread(target=_pin_all, args=(pool, device_index, self._pinned), daemon=True)
        thread.start()
        pool.receiver = thread

    def receive(self, timeout: Any) -> Any:
        """As Pool.receive."""
        try:
            answer = self._pinned.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(answer, BaseException):
            self._pinned.put(answer)            # the next call gets it again
            raise answer
        return answer


def _pin_all(pool, device_index, pinned):
    mindtorch.npu.set_device(device_index)
    while not pool.closing:
        try:
            task, answer = pool.receive(None)
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is waited for
            pinned.put(error)
            return
        try:
            answer = pin_memory(answer)
        except Exception:  # noqa: BLE001 - likewise
            answer = Failure(where=f"in pin memory thread for device {device_index}")
        pinned.put((task, answer))
