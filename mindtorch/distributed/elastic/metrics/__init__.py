"""torch.distributed.elastic.metrics: counts and times of a job, which handlers print or send on."""
from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable
from typing import Any

__all__ = ["ConsoleMetricHandler", "MetricData", "MetricHandler", "MetricStream", "MetricsConfig", "NullMetricHandler",
           "configure", "getStream", "get_elapsed_time_ms", "initialize_metrics", "prof", "profile", "publish_metric",
           "put_metric"]

DEFAULT_GROUP = "torchelastic"

MetricData = namedtuple("MetricData", ["timestamp", "group_name", "name", "value"])


class MetricsConfig:
    """Options of handlers."""

    __slots__ = ("params",)

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = {} if params is None else params


class MetricHandler(ABC):
    """Takes what is measured."""

    @abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Take a value."""


class ConsoleMetricHandler(MetricHandler):
    """Prints values."""

    def emit(self, metric_data: MetricData) -> None:
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


class NullMetricHandler(MetricHandler):
    """Drops values."""

    def emit(self, metric_data: MetricData) -> None:
        pass


class MetricStream:
    """The values of a group, on their way to a handler."""

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        """Send a value."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_default: MetricHandler = NullMetricHandler()
_handlers: dict[str, MetricHandler] = {}


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Let `handler` take the values of a group, or of all groups that have none.

    Example:
        >>> from mindtorch.distributed.elastic import metrics
        >>> class Kept(metrics.MetricHandler):
        ...     values = []
        ...     def emit(self, metric_data):
        ...         self.values.append((metric_data.name, metric_data.value))
        >>> metrics.configure(Kept(), "mine")
        >>> metrics.put_metric("steps", 3, "mine")
        >>> Kept.values
        [('steps', 3)]
    """
    global _default
    if group is None:
        _default = handler
    else:
        _handlers[group] = handler


def getStream(group: str) -> MetricStream:
    """The stream of a group."""
    return MetricStream(group, _handlers.get(group, _default))


def put_metric(metric_name: str, metric_value: int, metric_group: str = DEFAULT_GROUP) -> None:
    """Send a value of a group."""
    getStream(metric_group).add_value(metric_name, metric_value)


def publish_metric(metric_group: str, metric_name: str, metric_value: int) -> None:
    """put_metric with its arguments in another order."""
    put_metric(metric_name, metric_value, metric_group)


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """The milliseconds since a time."""
    return int((time.time() - start_time_in_seconds) * 1000)


def _get_metric_name(fn):
    """Class and name of a method, module and name of a function."""
    name = fn.__qualname__
    return name if "." in name else f"{fn.__module__.rpartition('.')[2]}.{name}"


def prof(fn: Callable | None = None, group: str = DEFAULT_GROUP) -> Any:
    """Decorator: counts the calls of a function that succeed and fail, and measures them in milliseconds."""
    def decorated(function):
        @functools.wraps(function)
        def measured(*args, **kwargs):
            name, begun = _get_metric_name(function), time.time()
            try:
                result = function(*args, **kwargs)
            except Exception:
                put_metric(f"{name}.failure", 1, group)
                raise
            else:
                put_metric(f"{name}.success", 1, group)
            finally:
                put_metric(f"{name}.duration.ms", get_elapsed_time_ms(begun), group)
            return result
        return measured
    return decorated if fn is None else decorated(fn)


def profile(group: str | None = None) -> Callable:
    """prof, by its older name."""
    return prof(group=group or DEFAULT_GROUP)


def initialize_metrics(cfg: MetricsConfig | None = None) -> None:
    """Does nothing: a place for programs that set handlers."""
