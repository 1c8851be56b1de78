"""The timed statement (TaskSpec), its times (Measurement), and readable numbers."""
from __future__ import annotations

import contextlib
import math
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

import mindtorch as torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig",
           "unit_to_english"]

UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}
NOISY, VERY_NOISY = 0.1, 0.25        # the range between the quartiles as a part of the median
_NOTICEABLE, _BAD = "could indicate system fluctuation", "suggests significant environmental influence"
QUANTILE_OF_90 = 1.645              # of the normal distribution
RESOLUTION = 25e-9                  # seconds; no clock measures shorter times
MAX_DIGITS = 4


@dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """The result of a Timer.

    Arguments:
        stmt: the statement, as a str
        setup: what runs before it, as a str
        global_setup: what C++ code has before it; not for Python
        label: the name of what is measured
        sub_label: a further name, for the row
        description: what tells measurements apart, for the column
        env: the name of the environment
        num_threads: the number of threads

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.Timer("1 + 1", label="sum").timeit(10).task_spec.label
        'sum'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement, with the sub-label."""
        named = f": {self.sub_label}" if self.sub_label else ""
        if self.label is not None:
            return self.label + named
        if "\n" not in self.stmt:
            return self.stmt + named
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup as a line, or as an indented block."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """The lines that describe the task above its times."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


@dataclass(init=True, repr=False)
class Measurement:
    """Times of a statement: `raw_times` in seconds, each of `number_per_run` executions.

    Arguments:
        number_per_run: how often the statement ran in a measured run
        raw_times: the seconds of each run
        task_spec: the TaskSpec
        metadata: further facts, as a dict

    Example:
        >>> from mindtorch.utils import benchmark
        >>> measurement = benchmark.Timer("1 + 1").timeit(10)
        >>> measurement.median > 0, measurement.number_per_run
        (True, 10)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if name == "title" or name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one execution."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        return float(numpy.mean(self.times))

    @property
    def median(self) -> float:
        return float(numpy.median(self.times))

    @property
    def iqr(self) -> float:
        """The range between the quartiles."""
        low, high = numpy.quantile(self.times, (0.25, 0.75))
        return float(high - low)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be trusted, from one to four: by the spread of the middle half."""
        ordered, count = sorted(self.times), len(self.times)
        middle = ordered[count // 4: math.ceil(3 * count / 4)]
        interval = max(QUANTILE_OF_90 * float(numpy.std(middle)) / math.sqrt(len(middle)), RESOLUTION)
        return min(max(math.floor(math.log10(self.median / interval)), 1), MAX_DIGITS)

    def meets_confidence(self, threshold: float = NOISY) -> bool:
        """Whether the range between the quartiles is below that part of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        return not self.meets_confidence()

    @property
    def as_row_name(self) -> str:
        """The name of the measurement's row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.raw_times)
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count > 3:
            low, high = numpy.quantile(self.times, (0.25, 0.75)) / scale
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        lines.append(f"  {count} measurement{'s' * (count > 1)}, {self.number_per_run} runs "
                     f"{'per measurement' * (count > 1)}, {self.num_threads} thread{'s' * (self.num_threads > 1)}")
        if self.has_warnings:
            spread = f"{self.iqr / self.median * 100:.1f}%"
            lines.append(f"  WARNING: Interquartile range is {spread} of the median measurement.")
            lines.append(f"           This {_BAD if not self.meets_confidence(VERY_NOISY) else _NOTICEABLE}.")
        return "\n".join(lines)

    __str__ = __repr__

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all of its measurements."""
        by_task = defaultdict(list)
        for measurement in measurements:
            by_task[measurement.task_spec].append(measurement)
        merged = []
        for task, found in by_task.items():
            count = found[0].number_per_run
            if any(other.number_per_run != count for other in found):
                merged.append(Measurement(1, [time for other in found for time in other.times], task))
            else:
                merged.append(Measurement(count, [time for other in found for time in other.raw_times], task))
        return merged


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time in seconds, and its length in seconds.

    Arguments:
        t: the time in seconds

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.select_unit(3e-5)
        ('us', 1e-06)
    """
    return next((unit, scale) for unit, (_, scale) in reversed(UNITS.items()) if t >= scale or unit == "ns")


def unit_to_english(u: str) -> str:
    """The name of a unit of time.

    Arguments:
        u: "ns", "us", "ms" or "s"

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.unit_to_english("us")
        'microsecond'
    """
    return UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """The number with `n` significant digits.

    Arguments:
        x: the number
        n: the number of digits

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.trim_sigfig(1234.0, 2)
        1200.0
    """
    if x == 0:
        return x
    magnitude = math.ceil(math.log10(abs(x)))
    scale = 10.0 ** (magnitude - n)
    return round(x / scale) * scale


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The distinct elements, in the order of their first occurrence.

    Arguments:
        elements: the elements

    Example:
        >>> from mindtorch.utils import benchmark
        >>> benchmark.ordered_unique([2, 1, 2])
        [2, 1]
    """
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """torch.set_num_threads for a with block.

    Arguments:
        n: the number

    Example:
        >>> from mindtorch.utils import benchmark
        >>> with benchmark.set_torch_threads(1):
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
