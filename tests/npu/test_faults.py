"""Calls of CANN that fail: the exception, its text, and that nothing is lost or left behind."""
import gc

import pytest

import mindtorch as torch
from mindtorch import sim

FAILURE = 500001
OUT_OF_MEMORY = 207001


def work():
    """A little of everything that needs CANN: memory, copies of all kinds, ops with and without workspace, streams."""
    a = torch.arange(12, device="npu").to(torch.float32).reshape(3, 4)
    b = torch.tensor([[1.0, 2.0, 3.0, 4.0]]).to("npu")
    c = (a + b).relu() @ a.t()
    pinned = torch.npu.pin_memory(torch.ones(3))
    there = pinned.to("npu", non_blocking=True)
    stream = torch.npu.Stream()
    stream.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(stream):
        d = c.sum(dim=1) + there
    event = stream.record_event()
    torch.npu.current_stream().wait_event(event)
    event.synchronize()
    joined = torch.cat([d, d * 2])
    large = torch.zeros(400_000).to("npu")
    torch.npu.synchronize()
    return joined.tolist(), large[5].item(), c[1:, ::2].tolist()


def settle():
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()


@pytest.fixture
def expected():
    """What work() gives, and the live objects before it."""
    result = work()
    settle()
    return result, sim.live_objects()


def functions_called():
    with sim.counting() as calls:
        work()
        settle()
    return sorted(name for name, count in calls.items() if count)


def failure_of_work():
    try:
        work()
        settle()
    except RuntimeError as error:
        return error.with_traceback(None)        # whose frames would keep tensors alive
    return None


# Handing things back: their statuses are not looked at, since nobody could do anything about a failure.
SILENT = {"aclDestroyTensor", "aclDestroyScalar", "aclDestroyIntArray", "aclDestroyTensorList", "aclrtDestroyEvent",
          "aclrtDestroyStream"}


def test_first_call_of_each_function_fails_once(expected):
    result, live = expected
    failing = [name for name in functions_called() if name not in SILENT and not name.startswith("sim")]
    assert len(failing) > 20
    for name in failing:
        torch.npu.empty_cache()
        with sim.fault(name, code=FAILURE):
            error = failure_of_work()
        # aclCreate* return no code. Some calls are repeated, and some failures lose nothing: these may be silent.
        if error is not None and not name.startswith("aclCreate"):
            assert name in str(error)
            assert f"code {FAILURE}" in str(error)
        assert not isinstance(error, torch.OutOfMemoryError)
        assert work() == result, f"after {name} had failed once"
        settle()
        assert sim.live_objects() == live, f"after {name} had failed once"


@pytest.mark.parametrize(("function", "act"), [
    ("aclrtMalloc", lambda: torch.empty(10, device="npu")),
    ("aclrtMemcpy", lambda: torch.zeros(3, device="npu").to("cpu")),
    ("aclrtMemcpyAsync", lambda: torch.zeros(3).to("npu")),
    ("aclrtSynchronizeStream", lambda: torch.zeros(3, device="npu").tolist()),
    ("aclnnAddGetWorkspaceSize", lambda: torch.zeros(3, device="npu") + 1.5 * torch.zeros(3, device="npu")),
    ("aclnnAdd", lambda: torch.zeros(3, device="npu") + torch.zeros(3, device="npu")),
    ("aclrtSynchronizeDevice", torch.npu.synchronize if hasattr(torch, "npu") else None),
])
def test_a_failure_is_named_and_not_kept(function, act):
    act()
    torch.npu.empty_cache()
    with sim.fault(function), pytest.raises(RuntimeError, match=rf"NPU error: {function} failed with code {FAILURE} "
                                                                r"\(ACL_ERROR_FAILURE: "):
        act()
    act()


def test_driver_out_of_memory_is_torch_s_exception():
    torch.npu.empty_cache()
    with sim.fault("aclrtMalloc", code=OUT_OF_MEMORY, times=2), \
            pytest.raises(torch.OutOfMemoryError, match=r"NPU out of memory\. Tried to allocate 2\.00 MiB"):
        torch.empty(10, device="npu")
    with sim.fault("aclrtMalloc", code=OUT_OF_MEMORY):       # the second try, after the cache was emptied, succeeds
        torch.empty(10, device="npu")


def test_failure_of_a_workspace_allocation_frees_the_executor():
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        a = torch.ones((300, 300), device="npu")
        out = torch.empty((300, 300), device="npu")
        used = len(torch.npu.memory_snapshot()["segments"])
        with sim.fault("aclrtMalloc", code=OUT_OF_MEMORY, times=2), pytest.raises(torch.OutOfMemoryError):
            torch.matmul(a.expand(300, 300, 300), a.expand(300, 300, 300))
        torch.matmul(a, a, out=out)
        assert out[0, 0].item() == 300
        assert used


def test_shapes_that_do_not_match():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"):
        torch.ones(3, device="npu") + torch.ones(4, device="npu")
    assert torch.ones(3, device="npu").sum().item() == 3


def test_a_missing_kernel_is_reported_with_a_remedy():
    with sim.fault("aclnnReluGetWorkspaceSize", code=561003), \
            pytest.raises(RuntimeError, match=r"561003[\s\S]*ops package"):
        torch.ones(3, device="npu").relu()


def test_a_chip_without_a_name():
    with sim.fault("aclrtGetSocName"), pytest.raises(RuntimeError, match="aclrtGetSocName"):
        torch.npu.get_device_name()
    assert torch.npu.get_device_name().endswith("(simulated)")


def test_errors_do_not_speak_of_the_start():
    """aclInit is called once: a second call leaves a warning that would be told with the next error."""
    with sim.fault("aclnnAdd"), pytest.raises(RuntimeError) as caught:
        torch.ones(2, device="npu") + torch.ones(2, device="npu")
    assert "aclInit" not in str(caught.value)
