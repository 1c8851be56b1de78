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
MetricData.__doc__ = """A value of a metric.

Arguments:
    timestamp: the time in seconds since 1970
    group_name: the name of the group of metrics
    name: the name of the metric
    value: the value

Example:
    >>> from mindtorch.distributed.elastic.metrics import MetricData
    >>> MetricData(1.5, "training", "steps", 3).value
    3
"""


class MetricsConfig:
    """Options of handlers, in `params`.

    Arguments:
        params: options, as a dict

    Example:
        >>> from mindtorch.distributed.elastic.metrics import MetricsConfig
        >>> MetricsConfig({"interval": "5"}).params
        {'interval': '5'}
    """

    __slots__ = ("params",)

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = {} if params is None else params


class MetricHandler(ABC):
    """Takes what is measured: a subclass defines `emit`.

    Example:
        >>> from mindtorch.distributed.elastic.metrics import MetricHandler, MetricStream
        >>> class Names(MetricHandler):
        ...     def emit(self, metric_data):
        ...         print(metric_data.group_name, metric_data.name)
        >>> MetricStream("training", Names()).add_value("steps", 3)
        training steps
    """

    @abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Take a value."""


class ConsoleMetricHandler(MetricHandler):
    """Prints values, each with its time and group.

    Example:
        >>> from mindtorch.distributed.elastic.metrics import ConsoleMetricHandler, MetricData
        >>> ConsoleMetricHandler().emit(MetricData(1.5, "training", "steps", 3))
        [1.5][training]: steps=3
    """

    def emit(self, metric_data: MetricData) -> None:
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


class NullMetricHandler(MetricHandler):
    """Drops values. It is the handler of groups for which `configure` has set none.

    Example:
        >>> from mindtorch.distributed.elastic.metrics import MetricData, NullMetricHandler
        >>> NullMetricHandler().emit(MetricData(1.5, "training", "steps", 3))
    """

    def emit(self, metric_data: MetricData) -> None:
        pass


class MetricStream:
    """The values of a group, on their way to a handler.

    Arguments:
        group_name: the name of the group of metrics
        handler: what takes the values, a MetricHandler

    Example:
        >>> from mindtorch.distributed.elastic.metrics import MetricHandler, MetricStream
        >>> class Values(MetricHandler):
        ...     def emit(self, metric_data):
        ...         print(metric_data.name, metric_data.value)
        >>> MetricStream("training", Values()).add_value("steps", 3)
        steps 3
    """

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        """Send a value."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_default: MetricHandler = NullMetricHandler()
_handlers: dict[str, MetricHandler] = {}


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Let `handler` take the values of a group, or of all groups that have none.

    Arguments:
        handler: what takes the values, a MetricHandler
        group: the name of the group of metrics; None means all that have no handler

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
    """The stream of a group, to the handler that `configure` has set for it.

    Arguments:
        group: the name of the group of metrics; None means all that have no handler

    Example:
        >>> from mindtorch.distributed.elastic import metrics
        >>> metrics.getStream("training").group_name
        'training'
    """
    return MetricStream(group, _handlers.get(group, _default))


def put_metric(metric_name: str, metric_value: int, metric_group: str = DEFAULT_GROUP) -> None:
    """Send a value of a group to its handler.

    Arguments:
        metric_name: the name of the metric
        metric_value: the value, an int
        metric_group: the name of the group of metrics

    Example:
        >>> from mindtorch.distributed.elastic import metrics
        >>> class Values(metrics.MetricHandler):
        ...     def emit(self, metric_data):
        ...         print(metric_data.name, metric_data.value)
        >>> metrics.configure(Values(), "put")
        >>> metrics.put_metric("steps", 3, "put")
        steps 3
    """
    getStream(metric_group).add_value(metric_name, metric_value)


def publish_metric(metric_group: str, metric_name: str, metric_value: int) -> None:
    """put_metric with its arguments in another order; torch has deprecated it.

    Arguments:
        metric_group: the name of the group of metrics
        metric_name: the name of the metric
        metric_value: the value, an int

    Example:
        >>> from mindtorch.distributed.elastic import metrics
        >>> class Values(metrics.MetricHandler):
        ...     def emit(self, metric_data):
        ...         print(metric_data.name, metric_data.value)
        >>> metrics.configure(Values(), "published")
        >>> metrics.publish_metric("published", "steps", 3)
        steps 3
    """
    put_metric(metric_name, metric_value, metric_group)


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """The whole milliseconds since a time of time.time().

    Arguments:
        start_time_in_seconds: the time in seconds since 1970

    Example:
        >>> import time
        >>> from mindtorch.distributed.elastic.metrics import get_elapsed_time_ms
        >>> get_elapsed_time_ms(time.time() - 2) >= 2000
        True
    """
    return int((time.time() - start_time_in_seconds) * 1000)


def _get_metric_name(fn):
    """Class and name of a method, module and name of a function."""
    name = fn.__qualname__
    return name if "." in name else f"{fn.__module__.rpartition('.')[2]}.{name}"


def prof(fn: Callable | None = None, group: str = DEFAULT_GROUP) -> Any:
    """Decorator: counts the calls of a function that succeed and fail, and measures them in milliseconds.

    Arguments:
        fn: the function; None for `@prof(group=...)`
        group: the group of the values

    Example:
        >>> from mindtorch.distributed.elastic import metrics
        >>> class Names(metrics.MetricHandler):
        ...     def emit(self, metric_data):
        ...         print(metric_data.name)
        >>> metrics.configure(Names(), "measured")
        >>> @metrics.prof(group="measured")
        ... def step():
        ...     return 1
        >>> step()
        example.step.success
        example.step.duration.ms
        1
    """
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
    """prof, by its older name: always with parentheses.

    Arguments:
        group: the name of the group of metrics; None means all that have no handler

    Example:
        >>> from mindtorch.distributed.elastic.metrics import profile
        >>> @profile("training")
        ... def step():
        ...     return 1
        >>> step()
        1
    """
    return prof(group=group or DEFAULT_GROUP)


def initialize_metrics(cfg: MetricsConfig | None = None) -> None:
    """Does nothing: a place for programs that set handlers.

    Arguments:
        cfg: not read

    Example:
        >>> from mindtorch.distributed.elastic import metrics
        >>> metrics.initialize_metrics(metrics.MetricsConfig())
    """
