"""What the counters of the device allocator say, each in a process of its own, from the first use on."""
import pytest
from process import run

BEGIN = """
import mindtorch as torch
MIB = 1 << 20
stats = lambda key: torch.npu.memory_stats()[key]
empty = lambda nbytes: torch.empty(nbytes, dtype=torch.uint8, device="npu")
def moved(nbytes, *keys):
    before = [stats(key) for key in keys]
    kept.append(empty(nbytes))
    return [stats(key) - was for key, was in zip(keys, before)]
kept = []
ALLOCATED, RESERVED = "allocated_bytes.all.current", "reserved_bytes.all.current"
SMALL, LARGE = "allocated_bytes.small_pool.current", "allocated_bytes.large_pool.current"
torch.npu.init()
"""

CASES = {
    "480 bytes take 512": "assert moved(480, ALLOCATED) == [512]",
    "481 bytes take 1024, for 32 are added": "assert moved(481, ALLOCATED) == [1024]",
    "the first small one takes 2 MiB from the device": "assert moved(1, RESERVED) == [2 * MIB]",
    "1 MiB is large: with its padding it is more": """
assert moved(MIB, ALLOCATED, RESERVED, LARGE, SMALL) == [1049088, 20 * MIB, 1049088, 0]""",
    "1 MiB less the padding is small": "assert moved(MIB - 32, SMALL, LARGE) == [MIB, 0]",
    "10 MiB have a segment of their own, to the next 2 MiB": "assert moved(10 * MIB, RESERVED) == [12 * MIB]",
    "12 MiB take 14": "assert moved(12 * MIB, RESERVED) == [14 * MIB]",
    "nothing takes nothing": """
before = torch.npu.memory_stats()
nothing = empty(0)
assert nothing.data_ptr() == 0 and torch.npu.memory_stats() == before""",
    "what was freed serves the same size on the same stream": """
a = empty(1000)
address, taken = a.data_ptr(), stats("num_device_alloc")
del a
assert empty(1000).data_ptr() == address and stats("num_device_alloc") == taken""",
    "an operator's workspace is taken for its launch alone": """
a = torch.ones(512, 512, device="npu")
torch.npu.reset_peak_memory_stats()
before, taken = stats(ALLOCATED), stats("allocation.all.allocated")
b = a @ a
assert stats(ALLOCATED) - before == 1049088 and stats("allocation.all.allocated") - taken == 2
assert stats("allocated_bytes.all.peak") > stats(ALLOCATED)""",
    "but not on another stream": """
a = empty(1000)
address = a.data_ptr()
del a
with torch.npu.stream(torch.npu.Stream()):
    b = empty(1000)
assert abs(b.data_ptr() - address) >= 2 * MIB and stats("segment.all.current") == 2""",
    "two small ones lie side by side, and the rest of their segment is one split block": """
a, b = empty(600), empty(600)
assert b.data_ptr() - a.data_ptr() == 1024 and stats("inactive_split.all.current") == 1""",
    "with all freed, empty_cache gives all back": """
a, b = empty(600), empty(600)
del a, b
torch.npu.empty_cache()
assert stats(RESERVED) == 0 and stats("segment.all.current") == 0""",
    "with one of two freed, empty_cache gives nothing back": """
a, b = empty(600), empty(600)
reserved = stats(RESERVED)
del a
torch.npu.empty_cache()
assert stats(RESERVED) == reserved""",
    "freed one after the other, they are one block": """
a, b = empty(600), empty(600)
del a
del b
(segment,) = torch.npu.memory_snapshot()
assert [(block["size"], block["state"]) for block in segment["blocks"]] == [(2 * MIB, "inactive")]""",
    "13.2 MiB are not split off 14": """
assert moved(13841203, ALLOCATED, "requested_bytes.all.current") == [14680064, 13841203]""",
}


@pytest.fixture(scope="module")
def outcomes():
    """What became of each case. All run in one process: each begins with nothing cached, and undoes what it did."""
    code = BEGIN + "".join(f"""
try:
    kept.clear()
    a = b = None
    torch.npu.synchronize()
    torch.npu.empty_cache()
    exec({body!r})
    print({name!r}, "holds")
except Exception as error:
    print({name!r}, type(error), error)
""" for name, body in CASES.items())
    return run(code).stdout.splitlines()


@pytest.mark.parametrize("name", CASES)
def test_of_a_fresh_allocator(name, outcomes):
    assert f"{name} holds" in outcomes


def test_the_reserved_bytes_have_an_old_name():
    import mindtorch as torch
    with pytest.warns(DeprecationWarning, match="is now"):
        assert torch.npu.memory_cached() == torch.npu.memory_reserved()
    with pytest.warns(DeprecationWarning, match="is now"):
        assert torch.npu.max_memory_cached() == torch.npu.max_memory_reserved()


@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_old_names_reset_every_peak(name):
    import mindtorch as torch
    torch.empty(3 << 20, device="npu")
    with pytest.warns(DeprecationWarning, match="is now"):
        getattr(torch.npu, name)()
    stats = torch.npu.memory_stats()
    peaks = [key for key in stats if key.endswith(".peak")]
    assert len(peaks) == 29
    assert all(stats[key] == stats[key.replace(".peak", ".current")] for key in peaks)


def test_record_stream_of_something_else_changes_nothing():
    import mindtorch as torch
    tensor = torch.ones(3, device="npu")
    before = torch.npu.memory_stats()
    with pytest.raises(RuntimeError, match="unknown parameter type"):
        tensor.record_stream(1)
    assert torch.npu.memory_stats() == before


def test_a_snapshot_has_a_trace_for_each_device():
    run("""
import mindtorch as torch
from mindtorch._npu import runtime
kept = torch.ones(1, device="npu:1")
assert torch.npu.memory_allocated() == 0 and torch.npu.memory_allocated(1) == 512
assert [segment["device"] for segment in torch.npu.memory_snapshot()] == [1]
assert runtime.started_devices() == [1]              # asking about another device does not start it
from mindtorch.npu.memory import _snapshot
assert len(_snapshot()["device_traces"]) == torch.npu.device_count() == 3
""", MINDTORCH_SIM_DEVICES="3")
