"""Streams that are busy until a test says otherwise."""
import threading
from contextlib import contextmanager

import mindtorch as torch


@contextmanager
def blocked(stream):
    """Inside, work submitted to `stream` does not begin; yields the function that lets it."""
    gate = threading.Event()
    torch.npu._launch_host_func(stream, gate.wait)
    try:
        yield gate.set
    finally:
        gate.set()
        stream.synchronize()
