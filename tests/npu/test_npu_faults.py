"""Calls of CANN that torch.npu's rarer functions make fail: the exception names them, nothing is lost."""
import pytest

import mindtorch as torch
from mindtorch import sim

FAILURE = 500001
npu = torch.npu


def recorded(event):
    event.record()
    return event


USES = {
    "aclGetDeviceCapability": npu.get_device_properties,
    "aclrtDeviceGetUuid": npu.get_device_properties,
    "aclrtGetDeviceUtilizationRate": npu.utilization,
    "aclrtEventGetTimestamp": lambda: recorded(npu.Event(enable_timing=True)).recorded_time(),
    "aclrtCreateEventWithFlag": lambda: npu.ExternalEvent().wait(),
    "aclrtResetEvent": lambda: recorded(npu.ExternalEvent()).reset(),
    "aclrtIpcGetEventHandle": lambda: npu.Event(interprocess=True).ipc_handle(),
    "aclrtIpcOpenEventHandle": lambda: npu.Event.from_ipc_handle("npu", npu.Event(interprocess=True).ipc_handle()),
    "aclrtLaunchHostFunc": lambda: npu._launch_host_func(npu.current_stream(), print),
    "aclrtCtxSetSysParamOpt": lambda: npu.set_deterministic_level(0),
    "aclrtSetOpExecuteTimeOutWithMs": lambda: npu.set_op_timeout_ms(60_000),
    "aclmdlInitDump": npu.init_dump,
    "aclSetCompileopt": lambda: npu.set_option({"ACL_OP_DEBUG_LEVEL": "0"}),
    "aclrtSetDeviceResLimit": lambda: npu.set_device_limit(0, 24),
    "aclrtGetDeviceResLimit": lambda: npu.get_device_limit(0),
    "aclrtSetStreamResLimit": lambda: npu.set_stream_limit(npu.current_stream(), 24),
    "aclrtGetStreamResLimit": lambda: npu.get_stream_limit(npu.current_stream()),
    "aclrtResetStreamResLimit": lambda: npu.reset_stream_limit(npu.current_stream()),
    "aclrtGetMemUceInfo": lambda: npu.check_uce_in_memory(0),
    "aclrtStreamWaitEvent": lambda: npu.Stream().wait_stream(npu.current_stream()),
    "aclrtCreateStreamWithConfig": npu.Stream,
    "aclrtMallocHost": lambda: torch.empty(77_777, pin_memory=True),
    "aclrtMemcpyAsync": lambda: torch.ones(3, device="npu").to("cpu", non_blocking=True),
}


@pytest.mark.parametrize("function", USES)
def test_a_call_that_fails_is_named(function):
    npu.init()
    npu.synchronize()
    npu.empty_cache()
    with sim.fault(function, 1, FAILURE), pytest.raises(RuntimeError, match=f"{function} failed with code {FAILURE}"):
        USES[function]()
    npu.synchronize()


def test_a_stream_that_could_not_be_made_is_made_at_its_next_turn():
    npu.empty_cache()
    numbers = {npu.Stream().stream_id for _ in range(32)}
    npu.empty_cache()
    with sim.fault("aclrtCreateStreamWithConfig", 1, FAILURE), pytest.raises(RuntimeError):
        npu.Stream()
    assert {npu.Stream().stream_id for _ in range(32)} == numbers


def test_pinned_memory_that_could_not_be_freed_is_freed_later():
    torch.empty(5000, dtype=torch.uint8, pin_memory=True)
    npu.host_empty_cache()
    pinned = torch.empty(5000, dtype=torch.uint8, pin_memory=True)
    before = npu.host_memory_stats()["allocations.current"]
    del pinned
    with sim.fault("aclrtFreeHost", 1, FAILURE), pytest.raises(RuntimeError, match="aclrtFreeHost failed"):
        npu.host_empty_cache()
    assert npu.host_memory_stats()["allocations.current"] == before - 1
    npu.host_empty_cache()


def test_a_request_that_fails_changes_no_figures():
    npu.init()
    npu.host_empty_cache()
    before = {key: value for key, value in npu.host_memory_stats().items() if "time" not in key}
    with sim.fault("aclrtMallocHost", 1, FAILURE), pytest.raises(RuntimeError):
        torch.ones(3).pin_memory()
    assert {key: value for key, value in npu.host_memory_stats().items() if "time" not in key} == before


@pytest.mark.usefixtures("queue_mode")
def test_an_error_does_not_carry_the_message_of_one_that_was_handled():
    x = torch.ones(2, device="npu")
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 45, device="npu")
    with sim.fault("aclnnAddGetWorkspaceSize"), pytest.raises(RuntimeError, match="a fault was injected") as caught:
        (x + x, torch.npu.synchronize())
    assert "EL0004" not in str(caught.value)
