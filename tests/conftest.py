"""What every test shares: the `device` parameter, and the count of live objects that each test must leave as it was."""
import gc
import os
import sys

import pytest

# Tests run in parallel processes; threads of BLAS below each of them only wait for one another.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remembers whether the test passed, for the fixtures that come after it."""
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


def pytest_collection_finish():
    """The many tests themselves are no garbage: collections pass them by, and take milliseconds, not seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=["cpu", "npu"])
def device(request):
    """Runs the test once on each device."""
    return request.param


@pytest.fixture(params=[0, 1, 2], ids="queue {}".format)
def queue_mode(request):
    """Runs the test with each TASK_QUEUE_ENABLE.

    An error of a launch is raised by the call or by the next function that waits for the device: tests for it end with
    one.
    """
    from mindtorch import npu
    mode = npu.get_task_queue_enable()
    npu.set_task_queue_enable(request.param)
    yield request.param
    npu.set_task_queue_enable(mode)


def _simulator():
    """(mindtorch.npu, mindtorch.sim) when the NPU of this process is the simulated one and has been started."""
    if "mindtorch" not in sys.modules:
        return None
    from mindtorch import npu, sim
    return (npu, sim) if npu.is_initialized() and npu.get_device_name().endswith("(simulated)") else None


def _live(npu, sim):
    """How many objects of each kind the process holds, and the bytes that tensors occupy on each device.

    What only waits to be freed, cached segments and workspaces are given back first.
    """
    from mindtorch._npu.acl import drop_kept_executors
    for index in range(npu.device_count()):
        npu.synchronize(index)
    npu.empty_cache()
    drop_kept_executors()
    counts = dict(sim.live_objects())
    for index in range(npu.device_count()):
        counts[f"bytes of tensors on npu:{index}"] = npu.memory_allocated(index)
    return counts


@pytest.fixture(scope="session")
def _warm():
    """Creates what the first use of a device creates for the life of the process: contexts, streams, workspaces."""
    if "mindtorch" not in sys.modules:
        return
    import mindtorch
    if os.environ.get("MINDTORCH_NPU") != "off":
        mindtorch.npu.init()
        for index in range(mindtorch.npu.device_count()):
            ones = mindtorch.ones((2, 2), device=f"npu:{index}")
            (ones @ ones).sum().item()


@pytest.fixture(autouse=True)
def _nothing_left_behind(_warm, request):
    """Fails a test that ends with more live objects than it began with.

    Garbage is collected only where a count has grown: that takes longer than most tests. A test that has failed is left
    alone, its traceback keeps objects alive.
    """
    simulator = _simulator()
    before = _live(*simulator) if simulator else {}
    yield
    if simulator is None or not request.node.stash.get(PASSED, False):
        return

    def grown():
        return {kind: f"{before.get(kind, 0)} -> {count}" for kind, count in _live(*simulator).items()
                if count > before.get(kind, 0)}

    if grown():
        gc.collect()
        gc.freeze()         # what is alive now is not of this test: the next collection passes it by
        left = grown()
        assert not left, f"the test left live objects behind: {left}"
