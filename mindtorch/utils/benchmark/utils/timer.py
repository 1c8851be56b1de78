"""Timer: measures statements as the module timeit does, with the devices' work waited for."""
from __future__ import annotations

import enum
import timeit
from typing import TYPE_CHECKING, Any

import mindtorch as torch
from mindtorch.utils.benchmark.utils.common import Measurement, TaskSpec, set_torch_threads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Language", "Timer", "timer"]


def timer() -> float:
    """The clock in seconds, read when the accelerator has done its work.

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.timer() <= benchmark.timer()
        True
    """
    if torch.npu.is_initialized():
        torch.npu.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """The language of a Timer's statement.

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.Language.PYTHON.value
        0
    """

    PYTHON = 0
    CPP = 1


class Timer:
    """Times the statement `stmt`, with the names in `globals`, after `setup`; torch's names describe it in tables.

        >>> import mindtorch as torch
        >>> from mindtorch.utils.benchmark import Timer
        >>> measured = Timer("x + x", globals={"x": torch.ones(8)}).timeit(100)
        >>> measured.number_per_run, len(measured.times), measured.median > 0
        (100, 1, True)

    Arguments:
        stmt: the statement, as a str
        setup: what runs before it, as a str
        global_setup: what C++ code has before it; not for Python
        timer: a function that gives the time in seconds
        globals: the names that the statement knows
        label: the name of what is measured
        sub_label: a further name, for the row
        description: what tells measurements apart, for the column
        env: the name of the environment
        num_threads: the number of threads
        language: Language.PYTHON; C++ is refused
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None, label: str | None = None,
                 sub_label: str | None = None, description: str | None = None, env: str | None = None,
                 num_threads: int = 1, language: Language | str = Language.PYTHON) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("mindtorch times statements of Python alone")
        if global_setup:
            raise ValueError("global_setup is C++ only, e.g. `#include ...`. Most likely you wanted `setup`")
        # As in torch, "torch" is there without being imported.
        names = {"torch": torch, **(globals or {})}
        stmt, setup = stmt.strip("\n").rstrip(), setup.strip("\n").rstrip()
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)        # a clock may not have moved

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The time of `number` executions, after a hundredth of them to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """The executions of a block: reading the clock costs less than 0.1 % of them, and ten blocks fill the time."""
        overhead = min(self._empty_timer.timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000:
                return number
            if taken > min_run_time:
                return number
            number *= 10

    @property
    def _empty_timer(self) -> timeit.Timer:
        return timeit.Timer("pass", timer=self._timer.timer)

    def _blocks(self, number: int, enough: Callable[[list[float]], bool], max_run_time: float,
                callback: Callable[[int, float], Any] | None) -> Measurement:
        times: list[float] = []
        while not times or (not enough(times) and sum(times) < max_run_time):
            times.append(self._timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return self._measurement(number, times)

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None,
                          min_run_time: float = 0.2) -> Measurement:
        """Blocks of executions until `min_run_time` seconds have passed."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            return self._blocks(number, lambda times: False, min_run_time, callback)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """The same until the range between the quartiles is below `threshold` of the median, or `max_run_time`."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)

            def enough(times: list[float]) -> bool:
                return (len(times) > 3 and sum(times) >= min_run_time
                        and self._measurement(number, times).meets_confidence(threshold))
            return self._blocks(number, enough, max_run_time, callback)
