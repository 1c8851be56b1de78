"""What every test shares: the `device` parameter, and the count of live objects that each test must leave as it was.

A run also remembers, in pytest's cache, which tests used no NPU. `pytest --used-npu` leaves these out: it runs all the
others once more, with another TASK_QUEUE_ENABLE, or with or without CANN's cache of executors.
"""
import faulthandler
import functools
import gc
import os
import sys
import time

import pytest

# Tests run in parallel processes; threads of BLAS below each of them only wait for one another.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

# The collection makes no garbage; looking for it among so many tests takes a sixth of the time.
gc.disable()

PASSED = pytest.StashKey[bool]()
BEFORE = pytest.StashKey[tuple]()
HANG_TIMEOUT = 300      # seconds
WITHOUT_NPU = "mindtorch/tests-without-npu"     # in pytest's cache
# Their tests work in processes that outlive them, or share results: all of them use the NPU.
OF_THE_NPU = ("tests/npu/", "tests/distributed/")


def pytest_addoption(parser):
    parser.addoption("--used-npu", action="store_true",
                     help="leave out the tests that used no NPU when they last ran, and those marked one_mode")


def pytest_configure(config):
    config.pluginmanager.register(_HangReport())
    # The processes of xdist send their reports to the one that has no input.
    if config.pluginmanager.has_plugin("cacheprovider") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_NpuUse(config))


class _HangReport:
    """Prints where every thread stands when a test has run for HANG_TIMEOUT, or up to a minute less.

    pytest's own faulthandler_timeout starts a thread for each test, which takes as long as many a test.
    """

    def __init__(self):
        self.stderr, self.started = os.dup(2), -HANG_TIMEOUT

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self):
        now = time.monotonic()
        if now - self.started > 60:
            self.started = now
            faulthandler.dump_traceback_later(HANG_TIMEOUT, file=self.stderr)

    def pytest_unconfigure(self):
        faulthandler.cancel_dump_traceback_later()
        os.close(self.stderr)


class _NpuUse:
    """Keeps which tests used no NPU when they last ran."""

    def __init__(self, config):
        self.cache, self.without = config.cache, set(config.cache.get(WITHOUT_NPU, []))

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            (self.without.discard if report.used_npu else self.without.add)(report.nodeid)

    def pytest_sessionfinish(self):
        self.cache.set(WITHOUT_NPU, sorted(self.without))


def pytest_collection_modifyitems(config, items):
    if config.getoption("used_npu"):
        without = set(config.cache.get(WITHOUT_NPU, []))
        kept, left_out = [], []
        for item in items:
            (left_out if item.nodeid in without or item.get_closest_marker("one_mode") else kept).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _allocations():
    """How many allocations the devices have seen."""
    simulator = _simulator()
    if simulator is None:
        return 0
    from mindtorch._npu.allocator import get_allocator
    return sum(get_allocator(index)._stats["allocation.all.allocated"] for index in range(simulator[0].device_count()))


def _children_time():
    return os.times()[2:4]


@functools.cache
def _warm():
    """Creates what the first use of a device creates for the life of the process: contexts, streams, workspaces."""
    import mindtorch
    if os.environ.get("MINDTORCH_NPU") != "off":
        mindtorch.npu.init()
        for index in range(mindtorch.npu.device_count()):
            ones = mindtorch.ones((2, 2), device=f"npu:{index}")
            (ones @ ones).sum().item()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    if "mindtorch" in sys.modules:
        _warm()
    item.stash[BEFORE] = (_allocations(), _children_time())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remembers whether the test passed, for the fixtures that come after it; tells in the end if it used the NPU."""
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    if report.when == "teardown":
        allocations, children_time = item.stash[BEFORE]
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        in_others = item.nodeid.startswith(OF_THE_NPU) or children_time != _children_time()
        report.used_npu = allocations != _allocations() or (in_others and ("cpu" not in values or "npu" in values))
    return report


def pytest_collection_finish():
    """The many tests themselves are no garbage: collections pass them by, and take milliseconds, not seconds."""
    gc.enable()
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


@pytest.fixture(autouse=True)
def _nothing_left_behind(request):
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
