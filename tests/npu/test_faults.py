"""Calls of CANN that fail: the exception, its text, and that nothing is lost or left behind."""
import gc
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from mindtorch._npu.acl import drop_kept_executors
from process import COUNT_AT_EXIT, run

import mindtorch as torch
from mindtorch import sim

FAILURE = 500001
OUT_OF_MEMORY = 207001

# A scalar that no call before had: CANN's cache of executors, where it is on, spares the first phase of all others.
NEW_NUMBERS = itertools.count(1.5)

# Called at the first use of a device, at the end of the process, and between devices: tests of their own, below.
START = ["aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "aclrtCreateContext"]
END = ["aclrtDestroyContext", "aclrtResetDevice", "aclFinalize"]
PEERS = ["aclrtDeviceCanAccessPeer", "aclrtDeviceEnablePeerAccess", "aclrtDeviceDisablePeerAccess"]

# Who destroys an argument when an op has been launched, or has failed, has nothing to tell: the call is repeated later.
REPEATED = {"aclDestroyTensor", "aclDestroyScalar", "aclDestroyIntArray", "aclDestroyBoolArray",
            "aclDestroyTensorList", "aclDestroyScalarList", "aclDestroyAclOpExecutor"}
# Failures without a code: these return nothing but what they make or find.
CODELESS = {"aclCreateTensor", "aclCreateScalar", "aclCreateIntArray", "aclCreateBoolArray", "aclCreateTensorList",
            "aclCreateScalarList", "aclrtGetSocName"}
# Of caches of executors. The first may find nothing or refuse, the others return nothing (test_executor_cache.py).
UNSUCCESSFUL = {"CanUsePTACache", "PTAFindExecCache", "aclSetAclOpExecutorRepeatable"}
WITHOUT_RESULT = {"InitPTACacheThreadLocal", "UnInitPTACacheThreadLocal", "AddTensorAddrToCachedList",
                  "SetPTACacheHashKey"}


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
    chosen = c.masked_select(c > 60)
    torch._foreach_mul_([a, b], [2.0, 3.0])
    signal = torch.ones((1, 1, 4), device="npu", requires_grad=True)
    torch.nn.functional.conv1d(signal, torch.ones((1, 1, 2), device="npu")).sum().backward()
    large = torch.zeros(400_000).to("npu")
    torch.npu.synchronize()
    assert stream.query()
    assert event.query()
    with ThreadPoolExecutor(1) as thread:
        doubled = thread.submit(torch.add, a, a).result()
    return (joined.tolist(), large[5].item(), c[1:, ::2].tolist(), doubled.tolist(), signal.grad.tolist(),
            chosen.tolist(), torch.npu.get_device_name())


def measure_time():
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    torch.ones(3, device="npu")
    end.record()
    assert begin.elapsed_time(end) >= 0


def run_out_of_memory():
    """An op that finds no room for its workspace: the executor is destroyed, not run."""
    a = torch.ones((9, 9), device="npu")
    out = torch.empty((9, 9), device="npu")
    torch.npu.synchronize()
    torch.npu.empty_cache()
    torch.npu.set_per_process_memory_fraction(0.0)
    try:
        with torch.npu.stream(torch.npu.Stream()), pytest.raises(torch.OutOfMemoryError):
            torch.matmul(a, a, out=out)
    finally:
        torch.npu.set_per_process_memory_fraction(1.0)


def grow_and_shrink():
    """Expandable segments: addresses reserved, memory mapped and unmapped again."""
    torch.npu.memory._set_allocator_settings("expandable_segments:True")
    try:
        with torch.npu.stream(torch.npu.Stream()):
            tensors = [torch.empty(15 << 20, dtype=torch.uint8, device="npu").zero_() for _ in range(2)]
            del tensors
            torch.npu.empty_cache()
    finally:
        torch.npu.memory._set_allocator_settings("expandable_segments:False")


def release_memory():
    gc.collect()
    torch.npu.synchronize()
    drop_kept_executors()
    torch.npu.empty_cache()


def do_all():
    result = work()
    measure_time()
    run_out_of_memory()
    release_memory()
    return result


def do_growing():
    grow_and_shrink()
    release_memory()


@pytest.fixture
def expected():
    """What do_all() gives, and the live objects before it."""
    result = do_all()
    return result, sim.live_objects()


def calls_made(work):
    """How often a piece of work calls each function of CANN."""
    with sim.counting() as calls:
        work()
    return {name: count for name, count in calls.items()
            if count and not name.startswith("sim") and name not in WITHOUT_RESULT}


def failure(work, function, nth):
    """The exception of the work when the `nth` call of `function` fails, and whether there was such a call."""
    error = None
    with sim.counting() as calls, sim.fault(function, nth, FAILURE):
        try:
            work()
        except RuntimeError as caught:
            error = caught.with_traceback(None)      # whose frames would keep tensors alive
    return error, calls[function] >= nth


def test_every_function_that_mindtorch_calls_is_made_to_fail_here():
    known = run("from mindtorch._npu import acl; print(*acl.load_functions([], []))").stdout.split()
    failing = {*calls_made(do_all), *calls_made(do_growing), *START, *END, *PEERS, "aclGetRecentErrMsg"}
    known = {name for name in known if name.startswith("acl")}          # not what frees an array of C++
    assert known == {name for name in failing - UNSUCCESSFUL if not name.startswith("aclnn")}


@pytest.mark.parametrize("work", [do_all, do_growing])
def test_any_call_may_fail_once(work):
    result = work()
    live = sim.live_objects()
    for name, count in sorted(calls_made(work).items()):
        for nth in range(1, count + 1):
            error, failed = failure(work, name, nth)
            if name in REPEATED | UNSUCCESSFUL or not failed:       # how often events are asked for is a matter of time
                assert error is None
            else:
                assert type(error) is RuntimeError, f"call {nth} of {name}"
                assert name in str(error)
                assert name in CODELESS or f"code {FAILURE}" in str(error)
            assert work() == result, f"after call {nth} of {name} had failed"
            assert sim.live_objects() == live, f"after call {nth} of {name} had failed"


@pytest.mark.usefixtures("queue_mode")
@pytest.mark.parametrize("function", sorted(REPEATED))
def test_what_could_not_be_destroyed_is_destroyed_later(expected, function):
    _, live = expected
    with sim.fault(function, times=10**6), sim.counting() as calls:
        do_all()
    # The second queue makes no executor of a call that lacks its workspace, so nobody has to destroy one.
    assert calls[function] == 0 or sum(sim.live_objects().values()) > sum(live.values())
    with sim.fault("aclnnAdd"), pytest.raises(RuntimeError) as caught:
        (torch.ones(2, device="npu") + torch.ones(2, device="npu"), torch.npu.synchronize())
    assert function not in str(caught.value)     # nor does it speak through other exceptions
    release_memory()
    assert sim.live_objects() == live


@pytest.mark.usefixtures("queue_mode")
def test_a_failure_of_which_the_driver_says_nothing():
    a = torch.ones(2, device="npu")
    with sim.fault("aclnnAdd"), sim.fault("aclGetRecentErrMsg"), \
            pytest.raises(RuntimeError, match=rf"aclnnAdd failed with code {FAILURE}"):
        (a + a, torch.npu.synchronize())


def test_an_event_whose_first_record_failed_is_as_new():
    event = torch.npu.Event()
    with sim.fault("aclrtRecordEvent"), pytest.raises(RuntimeError, match="aclrtRecordEvent"):
        event.record()
    assert event.device is None
    event.record()
    event.synchronize()
    assert event.query()


@pytest.mark.usefixtures("queue_mode")
@pytest.mark.parametrize(("function", "act"), [
    ("aclrtMalloc", lambda: torch.empty(10, device="npu")),
    ("aclrtMemcpy", lambda: torch.zeros(3, device="npu").to("cpu")),
    ("aclrtMemcpyAsync", lambda: torch.zeros(3).to("npu")),
    ("aclrtSynchronizeStream", lambda: torch.zeros(3, device="npu").tolist()),
    ("aclnnAddGetWorkspaceSize", lambda: torch.add(*torch.zeros((2, 3), device="npu"), alpha=next(NEW_NUMBERS))),
    ("aclnnAdd", lambda: torch.zeros(3, device="npu") + torch.zeros(3, device="npu")),
    ("aclrtSynchronizeDevice", torch.npu.synchronize if hasattr(torch, "npu") else None),
])
def test_a_failure_is_named_and_not_kept(function, act):
    act()
    torch.npu.empty_cache()
    with sim.fault(function), pytest.raises(RuntimeError, match=rf"NPU error: {function} failed with code {FAILURE} "
                                                                r"\(ACL_ERROR_FAILURE: "):
        (act(), torch.npu.synchronize())
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
        used = len(torch.npu.memory_snapshot())
        with sim.fault("aclrtMalloc", code=OUT_OF_MEMORY, times=2), pytest.raises(torch.OutOfMemoryError):
            torch.matmul(a.expand(300, 300, 300), a.expand(300, 300, 300))
        torch.matmul(a, a, out=out)
        assert out[0, 0].item() == 300
        assert used


def test_shapes_that_do_not_match():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"):
        torch.ones(3, device="npu") + torch.ones(4, device="npu")
    assert torch.ones(3, device="npu").sum().item() == 3


@pytest.mark.usefixtures("queue_mode")
def test_a_missing_kernel_is_reported_with_a_remedy():
    with sim.fault("aclnnReluGetWorkspaceSize", code=561003), \
            pytest.raises(RuntimeError, match=r"561003[\s\S]*ops package"):
        (torch.ones(3, 561, device="npu").relu(), torch.npu.synchronize())      # a shape whose phase 1 no test has run


def test_a_chip_without_a_name():
    with sim.fault("aclrtGetSocName"), pytest.raises(RuntimeError, match="aclrtGetSocName"):
        torch.npu.get_device_name()
    assert torch.npu.get_device_name().endswith("(simulated)")


@pytest.mark.usefixtures("queue_mode")
def test_errors_do_not_speak_of_the_start():
    """aclInit is called once: a second call leaves a warning that would be told with the next error."""
    with sim.fault("aclnnAdd"), pytest.raises(RuntimeError) as caught:
        (torch.ones(2, device="npu") + torch.ones(2, device="npu"), torch.npu.synchronize())
    assert "aclInit" not in str(caught.value)


# The start and the end of a process, and several devices

@pytest.mark.parametrize("function", [*START, "aclrtCreateStreamWithConfig", "aclrtSetCurrentContext"])
def test_a_failed_start_can_be_tried_again(function):
    out = run(COUNT_AT_EXIT + f"""
sim.inject_fault({function!r})
try:
    torch.ones(3, device="npu")
except RuntimeError as error:
    print({function!r} in str(error))
print(torch.ones(3, device="npu").sum().item())
""").stdout
    assert out.splitlines() == ["True", "3.0", "left: {}"]


@pytest.mark.parametrize("function", [*END, "aclrtSynchronizeStream", "aclrtFree", "aclrtFreeHost", "aclrtDestroyEvent",
                                      "aclrtDestroyStream", "aclrtSetCurrentContext", "aclDestroyTensor"])
def test_exit_survives_a_failing_call(function):
    done = run(COUNT_AT_EXIT + f"""
a = torch.ones(3).to("npu")
stream = torch.npu.Stream()
event = stream.record_event()
sim.inject_fault({function!r})
a + a
""")
    assert "Traceback" not in done.stderr
    assert done.stdout.strip() == "left: {}"


def test_devices_whose_link_fails():
    out = run(COUNT_AT_EXIT + f"""
a = torch.arange(4, device="npu:0")

def cross():
    b = a.to("npu:1")
    torch.npu.disable_peer_access(1, device=0)
    torch.npu.disable_peer_access(0, device=1)
    return b.tolist()

cross()
for function in {PEERS}:
    with sim.fault(function):
        try:
            cross()
        except RuntimeError as error:
            print(function in str(error) and "code {FAILURE}" in str(error), cross())
""", MINDTORCH_SIM_DEVICES="2").stdout
    assert out.splitlines() == ["True [0, 1, 2, 3]"] * 3 + ["left: {}"]
