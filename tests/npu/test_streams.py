"""Streams and events: order, timing, who is current where."""
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import mindtorch as torch
from mindtorch import sim
from mindtorch._npu import acl
from mindtorch._npu.streams import destroy_idle, process_deferred_now


def busy(size=600, rounds=6):
    """Keeps the current stream at work for some tens of milliseconds; returns the tensors that it works on."""
    a = torch.ones((size, size), device="npu")
    for _ in range(rounds):
        a = (a @ a) * (1.0 / size)
    return a


def test_default_stream_is_current():
    assert torch.npu.current_stream() == torch.npu.default_stream()
    assert torch.npu.current_stream().stream_id == 0
    assert torch.npu.current_stream().npu_stream != 0


def test_stream_context_restores():
    outer, inner = torch.npu.Stream(), torch.npu.Stream()
    assert outer != inner
    with torch.npu.stream(outer):
        with torch.npu.stream(inner):
            assert torch.npu.current_stream() == inner
        assert torch.npu.current_stream() == outer
        with torch.npu.stream(None):
            assert torch.npu.current_stream() == outer
    assert torch.npu.current_stream() == torch.npu.default_stream()


def test_stream_attributes():
    stream = torch.npu.Stream(priority=-5)
    assert stream.priority == -1
    assert stream.device == torch.device("npu:0")
    assert stream.device_index == 0
    assert stream.query() is True
    assert hex(stream.npu_stream) in repr(stream)


def test_idle_streams_are_given_back():
    torch.npu.empty_cache()
    before = sim.live_objects()["stream"]
    first, second = torch.npu.Stream(), torch.npu.Stream()
    number = first.stream_id
    assert sim.live_objects()["stream"] == before + 2
    del first
    torch.npu.empty_cache()
    assert sim.live_objects()["stream"] == before + 1
    again = torch.npu.Stream(stream_id=number, device_index=0, device_type=20)
    assert again.query()
    assert again != second
    assert sim.live_objects()["stream"] == before + 2
    del again, second
    gc.collect()
    torch.npu.empty_cache()
    assert sim.live_objects()["stream"] == before


def test_synchronize_and_query():
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        result = busy()
    stream.synchronize()
    assert stream.query() is True
    assert result[0, 0].item() == pytest.approx(1.0)


def test_wait_stream_orders_two_streams():
    one, two = torch.npu.Stream(), torch.npu.Stream()
    source = torch.zeros((600, 600), device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(one):
        source.copy_(busy())
    two.wait_stream(one)
    with torch.npu.stream(two):
        seen = source + 0
    two.synchronize()
    assert seen[0, 0].item() == pytest.approx(1.0)


def test_event_orders_two_streams():
    one, two = torch.npu.Stream(), torch.npu.Stream()
    source = torch.zeros((600, 600), device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(one):
        source.copy_(busy())
        event = one.record_event()
    two.wait_event(event)
    with torch.npu.stream(two):
        seen = source + 0
    two.synchronize()
    assert event.query() is True
    assert seen[5, 5].item() == pytest.approx(1.0)


def test_event_timing():
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    before = time.monotonic()
    start.record()
    kept = busy()
    end.record()
    end.synchronize()
    assert 0 < start.elapsed_time(end) <= 1000 * (time.monotonic() - before) + 1
    assert kept is not None


def test_event_before_its_first_record():
    event = torch.npu.Event()
    assert event.query() is True
    event.synchronize()
    event.wait()
    assert "uninitialized" in repr(event)
    assert event.device is None


def test_event_errors():
    timed, plain = torch.npu.Event(enable_timing=True), torch.npu.Event()
    with pytest.raises(RuntimeError, match="Both events must be recorded before calculating elapsed time"):
        timed.elapsed_time(torch.npu.Event(enable_timing=True))
    with pytest.raises(RuntimeError, match="Both events must be recorded before calculating elapsed time"):
        plain.elapsed_time(timed)
    timed.record()
    plain.record()
    for begin, end in ((plain, timed), (timed, plain)):
        with pytest.raises(ValueError, match="enable_timing=True"):
            begin.elapsed_time(end)
    with pytest.raises(TypeError):
        plain.record("no stream")


def test_current_stream_is_per_thread():
    stream = torch.npu.Stream()
    seen = []
    with torch.npu.stream(stream):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.npu.default_stream()]


def test_a_stream_set_in_a_thread_is_idle_after_it():
    torch.npu.empty_cache()
    before = sim.live_objects()["stream"]
    thread = threading.Thread(target=lambda: torch.npu.set_stream(torch.npu.Stream()))
    thread.start()
    thread.join()
    gc.collect()
    torch.npu.empty_cache()
    assert sim.live_objects()["stream"] == before


def test_events_are_reused_and_given_back():
    torch.npu.empty_cache()
    before = sim.live_objects().get("event", 0)
    for _ in range(20):
        torch.npu.Event().record()
    assert sim.live_objects()["event"] <= before + 1
    torch.npu.empty_cache()
    assert sim.live_objects().get("event", 0) == before

def test_events_that_a_thread_waits_for_are_not_destroyed():
    torch.npu.empty_cache()
    torch.ones(10, pin_memory=True).to("npu", non_blocking=True)     # the pinned memory is released after an event
    sim.set_latency("aclrtSynchronizeEvent", 100_000_000)
    try:
        with sim.counting(), ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(torch.npu.empty_cache)
            while sim.calls("aclrtSynchronizeEvent") == 0:
                time.sleep(0.001)
            torch.npu.current_stream().synchronize()
            process_deferred_now()                        # the event is complete, so this thread makes it idle
            destroy_idle(torch.npu.current_device())
            waiting.result()
    finally:
        sim.set_latency("aclrtSynchronizeEvent", 0)


def test_work_of_a_dropped_stream_still_runs():
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        result = busy()
    del stream
    torch.npu.synchronize()
    assert result[1, 1].item() == pytest.approx(1.0)


@pytest.mark.usefixtures("queue_mode")
def test_a_stream_destroyed_by_its_handle_is_an_error_and_no_other_stream_suffers():
    ones = torch.ones(3, device="npu")
    torch.npu.synchronize()                      # `ones` is there for every stream
    stream = torch.npu.Stream()
    assert acl.rt.destroy_stream(stream.npu_stream) == 0
    with pytest.raises(RuntimeError, match="aclrtSynchronizeStream failed with code 107017"):
        stream.synchronize()
    with torch.npu.stream(stream), pytest.raises(RuntimeError, match="aclnnAdd failed"):
        (ones + ones, torch.npu.synchronize())
    del stream
    with torch.npu.stream(torch.npu.Stream()):
        assert (ones + ones).tolist() == [2, 2, 2]
