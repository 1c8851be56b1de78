"""Calls of CANN's runtime for the rarer functions of torch.npu."""


from __future__ import annotations

from typing import Any


def bound(index: Any) -> Any:
    """acl.rt, after device `index` is started and made current in the calling thread."""
    from mindtorch._npu import acl, streams
    streams.make_current(index)
    return acl.rt


def executor_cache() -> Any:
    """The module that is told of settings which phase 1 of operators reads."""
    from mindtorch._npu import executor_cache
    return executor_cache


def launch_queue() -> Any:
    """The module of the queues of launches."""
    from mindtorch._npu import launch_queue
    return launch_queue


def check(status: Any, function: Any) -> None:
    """RuntimeError unless the status is 0."""
    from mindtorch._npu.acl import check_status
    check_status(status, function)
