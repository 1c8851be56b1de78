"""What every test shares: the `device` parameter, and the count of live objects that each test must leave as it was."""
import gc
import sys

import pytest


PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remembers whether the test passed, for the fixtures that come after it."""
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture(params=["cpu", "npu"])
def device(request):
    """Runs the test once on each device."""
    return request.param


def _simulator():
    """mindtorch.sim when the NPU of this process is the simulated one and has been started, else None."""
    npu = sys.modules.get("mindtorch.npu")
    if npu is None or not npu.is_initialized():
        return None
    from mindtorch import sim
    return sim if npu.get_device_name().endswith("(simulated)") else None


def _live(sim):
    """How many objects of each kind the process holds, and the bytes that tensors occupy on each device."""
    npu = sys.modules["mindtorch.npu"]
    counts = dict(sim.live_objects())
    for index in range(npu.device_count()):
        counts[f"bytes of tensors on npu:{index}"] = npu.memory_allocated(index)
    return counts


def _settle():
    """Lets go of all that is only waiting to be freed: reference cycles, deferred frees, cached segments."""
    npu = sys.modules["mindtorch.npu"]
    gc.collect()
    for index in range(npu.device_count()):
        npu.synchronize(index)
    npu.empty_cache()


@pytest.fixture(scope="session")
def _warm():
    """Creates what the first use of a device creates for the life of the process: contexts, streams, workspaces."""
    if "mindtorch.npu" in sys.modules:
        import mindtorch
        if mindtorch.npu.is_available():
            for index in range(mindtorch.npu.device_count()):
                ones = mindtorch.ones((2, 2), device=f"npu:{index}")
                (ones @ ones).sum().item()


@pytest.fixture(autouse=True)
def _nothing_left_behind(_warm, request):
    """Fails a test that ends with more live objects than it began with.

    The quick look comes first: only where a count has grown are garbage and caches cleared, and the counts compared
    again. A test that has failed is left alone, its traceback keeps objects alive.
    """
    sim = _simulator()
    before = _live(sim) if sim else {}
    yield
    if sim is None or not request.node.stash.get(PASSED, False):
        return

    def grown():
        return {kind: f"{before.get(kind, 0)} -> {count}" for kind, count in _live(sim).items()
                if count > before.get(kind, 0)}

    if grown():
        _settle()
        left = grown()
        assert not left, f"the test left live objects behind: {left}"
