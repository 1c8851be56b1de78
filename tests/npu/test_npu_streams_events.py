"""Streams come from pools, events cross streams and devices, and what makes the host wait can be found."""
import ctypes
import threading
import warnings

import pytest
import torch as torch_cpu
from blocked import blocked
from process import run

import mindtorch as torch

PAIR = {"MINDTORCH_SIM_DEVICES": "2"}


# --- streams ---------------------------------------------------------------------------------------------------------

def test_every_thread_begins_with_the_default_stream():
    torch.ones(1, device="npu")
    seen = []
    with torch.npu.stream(torch.npu.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.npu.default_stream()] == [torch.npu.current_stream()]
    assert torch.npu.current_stream() is not torch.npu.current_stream()


def test_the_33rd_stream_is_the_first():
    streams = [torch.npu.Stream() for _ in range(33)]
    assert streams[32] == streams[0]
    assert hash(streams[32]) == hash(streams[0])
    assert len({*streams}) == 32
    assert streams[0] != streams[1]
    assert streams[0] != streams[0].stream_id
    kinds = (streams[0], torch.npu.Stream(priority=-1), torch.npu.default_stream())
    assert [stream.stream_id >> 5 for stream in kinds] == [3, 4, 0]


@pytest.mark.parametrize(("priority", "kept"), [(-7, -1), (-1, -1), (0, 0), (3, 0)])
def test_a_priority_is_the_nearest_that_there_is(priority, kept):
    assert torch.npu.Stream(priority=priority).priority == kept
    assert torch.npu.Stream.priority_range() == (0, -1)


def test_a_pool_can_be_smaller():
    run("""
import mindtorch as torch
assert len({torch.npu.Stream().stream_id for _ in range(40)}) == 8
""", STREAMS_PER_DEVICE="8")


def test_a_pool_has_one_of_two_sizes():
    run("""
import mindtorch as torch
for _ in range(2):
    try:
        torch.npu.Stream()
    except ValueError as error:
        assert str(error) == "STREAMS_PER_DEVICE must be 8 or 32, got 9"
    else:
        raise AssertionError
""", STREAMS_PER_DEVICE="9")


def test_contexts_nest_and_restore_across_devices():
    run("""
import mindtorch as torch
here, there = torch.npu.Stream("npu:0"), torch.npu.Stream("npu:1")
with torch.npu.stream(here):
    with torch.npu.stream(there):
        assert torch.npu.current_device() == 1 and torch.npu.current_stream() == there
        assert torch.npu.current_stream(0) == here
        with torch.npu.stream(None):
            assert torch.npu.current_stream() == there
        assert torch.ones(1, device="npu").device == torch.device("npu:1")
    assert torch.npu.current_device() == 0 and torch.npu.current_stream() == here
    assert torch.npu.current_stream(1) == torch.npu.default_stream(1)
    try:
        with there:
            assert torch.npu.current_stream() == there
            raise KeyError
    except KeyError:
        pass
    torch.npu.set_stream(None)
    assert torch.npu.current_stream() == here
torch.npu.set_stream(there)
assert torch.npu.current_device() == 1
""", **PAIR)


def test_a_stream_by_its_attributes():
    stream = torch.npu.Stream(priority=-1)
    again = torch.npu.Stream(stream_id=stream.stream_id, device_index=stream.device_index,
                             device_type=stream.device_type)
    assert again == stream
    assert again.npu_stream == again.native_handle == again._as_parameter_.value
    assert stream.device_type == 20
    assert stream.is_capturing() is False
    with pytest.raises(RuntimeError, match="npu:0 has no stream"):
        torch.npu.Stream(stream_id=1000, device_index=0, device_type=20)


def test_streams_of_somebody_else():
    place = ctypes.c_void_p()
    runtime = torch.npu.npurt()
    assert runtime.npuStreamCreate(ctypes.addressof(place)) == 0
    stream = torch.npu.ExternalStream(place.value)
    assert stream == torch.npu.ExternalStream(place.value)
    assert stream.npu_stream == place.value
    with torch.npu.stream(stream):
        three = torch.ones(3, device="npu") + 2
        event = stream.record_event()
    event.synchronize()
    assert three.tolist() == [3, 3, 3]
    del three
    torch.npu.empty_cache()
    assert stream.query()
    del stream
    torch.npu.empty_cache()
    assert runtime.npuStreamDestroy(place.value) == 0        # empty_cache has left it alone


@pytest.mark.parametrize("call", [
    "ExternalStream(0)", "ExternalStream(1, priority=-1)", "SyncLaunchStream(priority=-1)"])
def test_streams_that_cannot_be(call):
    with pytest.raises(RuntimeError):
        eval(f"torch.npu.{call}")


def test_a_pool_of_streams_for_launches_at_once():
    streams = [torch.npu.SyncLaunchStream() for _ in range(5)]
    assert streams[4] == streams[0]
    assert len({*streams}) == 4
    assert isinstance(streams[0], torch.npu.Stream)
    assert repr(streams[0]).startswith("<mindtorch.npu.SyncLaunchStream device=npu:0 npu_stream=0x")
    with torch.npu.stream(streams[1]):
        assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]


def test_host_functions_run_in_the_order_of_the_stream():
    stream, seen = torch.npu.Stream(), []
    with blocked(stream) as release:
        torch.npu._launch_host_func(stream, lambda: seen.append(1))
        torch.npu._launch_host_func(stream, lambda: seen.append(2))
        assert not stream.query()
        assert seen == []
        release()
        stream.synchronize()
    assert seen == [1, 2]


def test_sleep_keeps_the_stream_busy():
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.npu._sleep(3_000_000)
    end.record()
    assert start.elapsed_time(end) >= 3


# --- events ----------------------------------------------------------------------------------------------------------

def test_an_event_before_and_after_its_record():
    event, stream = torch.npu.Event(), torch.npu.Stream()
    assert event.query()
    assert event.device is None
    assert event.event_id == 0
    with blocked(stream) as release:
        event.record(stream)
        assert not event.query()
        release()
        event.synchronize()
    assert event.query()
    assert event.device == torch.device("npu:0")
    assert event.event_id == event._as_parameter_.value != 0


def test_times():
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="Both events must be recorded before calculating elapsed time"):
        start.elapsed_time(end)
    start.record()
    end.record()
    assert isinstance(start.elapsed_time(end), float)
    assert start.elapsed_time(end) >= 0
    assert isinstance(start.recorded_time(), int)
    assert end.recorded_time() >= start.recorded_time()
    with pytest.raises(RuntimeError, match="Both events must be recorded"):
        torch.npu.Event().elapsed_time(end)
    with pytest.raises(RuntimeError, match=r"expected other to be a torch\.Event object"):
        start.elapsed_time(3)
    with pytest.raises(RuntimeError, match="must be recorded"):
        torch.npu.Event(enable_timing=True).recorded_time()
    plain = torch.npu.Event()
    plain.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        plain.recorded_time()
    with pytest.raises(RuntimeError, match="interprocess"):
        torch.npu.Event(enable_timing=True, interprocess=True)
    with pytest.raises(RuntimeError, match="interprocess=True"):
        torch.npu.Event().ipc_handle()


def test_a_flag_may_be_waited_for_before_it_is_raised():
    first, second, order = torch.npu.Stream(), torch.npu.Stream(), []
    flag = torch.npu.ExternalEvent()
    flag.reset()
    assert repr(flag) == "<mindtorch.npu.ExternalEvent uninitialized>"
    for _ in range(2):
        flag.wait(second)
        torch.npu._launch_host_func(second, lambda: order.append("second"))
        assert not second.query()
        torch.npu._launch_host_func(first, lambda: order.append("first"))
        flag.record(first)
        second.synchronize()
        flag.reset(second)
        second.synchronize()
    assert order == ["first", "second"] * 2
    assert isinstance(flag, torch.npu.Event)


def test_one_stream_waits_for_another():
    first, second, order = torch.npu.Stream(), torch.npu.Stream(), []
    with blocked(first) as release:
        torch.npu._launch_host_func(first, lambda: order.append("first"))
        second.wait_stream(first)
        torch.npu._launch_host_func(second, lambda: order.append("second"))
        assert not second.query()
        release()
        second.synchronize()
    assert order == ["first", "second"]


def test_between_devices():
    run("""
import threading
import mindtorch as torch
here, there = torch.npu.Stream("npu:0"), torch.npu.Stream("npu:1")
event = here.record_event()
try:
    event.record(there)
except RuntimeError as error:
    assert "Event device npu:0 does not match recording stream's device npu:1." in str(error)
else:
    raise AssertionError
assert torch.npu.can_device_access_peer(0, 1)
source = torch.arange(500.0, device="npu:0")
torch.npu.synchronize(0)
torch.npu.synchronize(1)
gate, order = threading.Event(), []
with torch.npu.stream(here), torch.npu.stream(there):
    torch.npu._launch_host_func(here, gate.wait)
    result = (source * 2).to("npu:1") + 1          # nothing of this is waited for
    strided = source.view(20, 25).t().to("npu:1", torch.float64)
    assert not here.query() and not there.query()
    event = there.record_event()
    del source
    gate.set()
    event.synchronize()
assert result.cpu().equal(torch.arange(500.0) * 2 + 1)
assert strided.cpu().equal(torch.arange(500.0).view(20, 25).t().double())
""", **PAIR)


# --- what makes the host wait ----------------------------------------------------------------------------------------

@pytest.fixture
def debug_mode():
    yield torch.npu.set_sync_debug_mode
    torch.npu.set_sync_debug_mode(0)


WAIT = {
    "item": lambda a: a[0].item(), "tolist": lambda a: a.tolist(), "cpu": lambda a: a.cpu(),
    "nonzero": lambda a: a.nonzero(), "a mask": lambda a: a[a > 1], "bool": lambda a: bool(a[0]),
    "upload": lambda a: torch.ones(1 << 19).to("npu"), "a stream": lambda a: torch.npu.current_stream().synchronize(),
}
DO_NOT = {
    "an operator": lambda a: a + 1, "a small upload": lambda a: torch.ones(3).to("npu"),
    "device": lambda a: torch.npu.synchronize(),
    "event": lambda a: torch.npu.current_stream().record_event().synchronize(),
    "pinned": lambda a: torch.ones(1 << 19, pin_memory=True).to("npu", non_blocking=True),
    "to pinned": lambda a: a.to("cpu", non_blocking=True), "a view": lambda a: a[1:].t(),
}


@pytest.mark.parametrize("name", [*WAIT, *DO_NOT])
def test_what_waits_says_so(name, debug_mode):
    a = torch.tensor([0.0, 1.0, 2.0], device="npu")
    action = {**WAIT, **DO_NOT}[name]
    for mode, what in (("warn", "warning"), ("error", "error")):
        debug_mode(mode)
        if name in DO_NOT:
            action(a)
        elif what == "warning":
            with pytest.warns(UserWarning, match="called a synchronizing NPU operation"):
                action(a)
        else:
            with pytest.raises(RuntimeError, match="called a synchronizing NPU operation"):
                action(a)
    torch.npu.synchronize()


def test_modes(debug_mode):
    assert torch.npu.get_sync_debug_mode() == 0
    for mode, number in (("warn", 1), ("error", 2), ("default", 0), (1, 1), (2, 2), (0, 0)):
        debug_mode(mode)
        assert torch.npu.get_sync_debug_mode() == number
    for wrong in ("loud", 3, -1):
        with pytest.raises(RuntimeError, match="invalid value of debug_mode, expected one of"):
            debug_mode(wrong)


# --- torch.Stream and torch.Event ------------------------------------------------------------------------------------

ON_THE_CPU = [
    "repr(torch.Stream('cpu'))", "torch.Stream('cpu', 'x')", "torch.Stream('cpu', foo=1)", "torch.Stream('cuda')",
    "torch.Stream(1.5)", "torch.Stream(stream_id=3)", "s.device", "s.device_type", "s.device_index", "s.stream_id",
    "s.native_handle", "s.query()", "s.synchronize()", "s.record_event()", "s.wait_stream(s)", "s.is_capturing()",
    "s == 3", "s == torch.Stream('cpu')", "s is s.__enter__()", "repr(torch.Event('cpu'))", "torch.Event('cuda')",
    "torch.Event(1.5)", "torch.Event('cpu', True)", "torch.Event('cpu', foo=1)",
    "repr(torch.Event('cpu', enable_timing=True, interprocess=True))", "e.device", "e.event_id", "e.record()",
    "e.record(s)", "e.query()", "e.synchronize()", "e.wait()", "e.wait(s)", "e.elapsed_time(e)", "e.elapsed_time(3)",
    "e.ipc_handle()", "torch.Event.from_ipc_handle('cpu', b'')", "e == e", "isinstance(s, torch.Stream)",
    "isinstance(e, torch.Event)", "isinstance(s, torch.Event)",
    "repr(torch.Stream(stream_id=0, device_index=0, device_type=0))",
]


@pytest.mark.parametrize("expression", ON_THE_CPU)
def test_generic_ones_on_the_cpu(expression):
    def of(lib):
        names = {"torch": lib, "s": lib.Stream("cpu"), "e": lib.Event("cpu")}
        try:
            result = eval(expression, names)
        except Exception as error:              # noqa: BLE001 - whatever torch raises
            return type(error), str(error)
        return str(result)
    assert of(torch) == of(torch_cpu)


def test_generic_ones_on_the_npu():
    for stream in (torch.Stream("npu"), torch.Stream(), torch.Stream(torch.device("npu:0"), priority=-1)):
        assert isinstance(stream, torch.Stream)
        assert isinstance(stream, torch.npu.Stream)
        assert stream.device == torch.device("npu:0")
    with stream:
        assert torch.npu.current_stream() == stream == torch.accelerator.current_stream()
        event = torch.Event("npu", enable_timing=True)
        event.record()
    assert isinstance(event, torch.Event)
    assert issubclass(torch.npu.Event, torch.Event)
    event.synchronize()
    assert event.query()
    assert not isinstance(3, torch.Stream)


def test_the_accelerator_is_the_npu():
    tensor = torch.ones(1000, device=torch.accelerator.current_accelerator())
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == torch.npu.device_count()
    assert torch.accelerator.memory_allocated() == torch.npu.memory_allocated() >= tensor.nbytes
    assert torch.accelerator.memory_reserved("npu") == torch.npu.memory_reserved()
    assert torch.accelerator.get_memory_info(0)[1] == torch.npu.mem_get_info()[1]
    assert torch.float32 in torch.accelerator.get_device_capability()["supported_dtypes"]
    torch.accelerator.synchronize()
    with torch.accelerator.device_index(None), torch.accelerator.device_index(0):
        assert torch.accelerator.current_device_index() == 0
    for call in ("set_device_index('npu')", "set_device_index(None)", "synchronize('cuda:0')"):
        with pytest.raises(ValueError, match=r"Expected a torch\.device with a|doesn't match the current"):
            eval(f"torch.accelerator.{call}")
    with pytest.warns(FutureWarning):
        assert torch.accelerator.current_device_idx() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.accelerator.set_device_idx(0)
    assert torch.OutOfMemoryError.__bases__ == torch.AcceleratorError.__bases__ == (RuntimeError,)


def test_without_an_accelerator():
    run("""
import mindtorch as torch
assert torch.accelerator.device_count() == 0 and not torch.accelerator.is_available()
assert torch.accelerator.current_accelerator(check_available=True) is None
assert repr(torch.Stream()) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
for call in ("synchronize", "current_stream", "memory_allocated", "empty_cache", "current_device_index"):
    try:
        getattr(torch.accelerator, call)()
    except RuntimeError as error:
        assert str(error) == "Cannot access accelerator device when none is available.", call
    else:
        raise AssertionError(call)
""", MINDTORCH_NPU="off")


# --- events of several processes -------------------------------------------------------------------------------------

def test_an_event_of_two_processes():
    run("""
import subprocess, sys, threading
import mindtorch as torch
event = torch.npu.Event(interprocess=True)
handle = event.ipc_handle()
assert len(handle) == 64
gate, stream = threading.Event(), torch.npu.current_stream()
torch.npu._launch_host_func(stream, gate.wait)
event.record()
other = subprocess.Popen([sys.executable, "-c", f'''
import mindtorch as torch
event = torch.npu.Event.from_ipc_handle("npu", {handle!r})
assert event.device == torch.device("npu:0") and not event.query()
stream = torch.npu.Stream()
stream.wait_event(event)
assert not stream.query()
print("waits", flush=True)
stream.synchronize()
event.synchronize()
assert event.query()
print("done", flush=True)
'''], stdout=subprocess.PIPE, text=True)
assert other.stdout.readline() == "waits\\n"
assert other.poll() is None
gate.set()
assert other.stdout.readline() == "done\\n" and other.wait() == 0
event.synchronize()
assert torch.Event.from_ipc_handle("npu:0", handle).query()
""")


def test_handles_of_no_event():
    for handle, kind in ((b"short", ValueError), (bytes(64), RuntimeError), (b"mindtorch-event-0-0".ljust(64, b"\0"),
                                                                          RuntimeError)):
        with pytest.raises(kind):
            torch.npu.Event.from_ipc_handle("npu", handle)
    event = torch.npu.Event(interprocess=True)
    handle = event.ipc_handle()
    del event
    torch.npu.empty_cache()
    with pytest.raises(RuntimeError, match="aclrtIpcOpenEventHandle failed"):
        torch.npu.Event.from_ipc_handle("npu", handle)
