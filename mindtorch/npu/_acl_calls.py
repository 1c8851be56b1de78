"""Calls of CANN's runtime for the rarer functions of torch.npu."""


from __future__ import annotations

from typing import Any


def bound(index: Any) -> Any:
    """acl.rt, after device `index` is started and made current in the calling thread."""
    from mindtorch._npu import acl, streams
    streams.make_current(index)
    return acl.rt


def launch() -> Any:
    """The module with `note_setting`, which is called when a setting that phase 1 reads has changed."""
    from mindtorch._npu import launch
    return launch


def acl() -> Any:
    """The module of CANN's functions and of the queues of launches."""
    from mindtorch._npu import acl
    return acl


def check(status: Any, function: Any) -> None:
    """RuntimeError unless the status is 0."""
    from mindtorch._npu.acl import check_status
    check_status(status, function)
