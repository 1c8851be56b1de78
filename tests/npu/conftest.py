"""Fixtures of the tests of the NPU."""
import pytest

import mindtorch as torch


@pytest.fixture
def without_queue():
    """The thread that calls an operator launches it, whatever TASK_QUEUE_ENABLE says: errors come from the call."""
    mode = torch.npu.get_task_queue_enable()
    torch.npu.set_task_queue_enable(0)
    yield
    torch.npu.set_task_queue_enable(mode)
