"""Pinned host memory: its cache, its figures, factories, and copies that nobody waits for."""
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from blocked import blocked
from process import run

import mindtorch as torch


def figures():
    return torch.npu.host_memory_stats()


def moved(action, *keys):
    """How much `action` changes counters; its result."""
    before = figures()
    result = action()
    after = figures()
    return result, [after[key] - before[key] for key in keys]


@pytest.fixture(autouse=True)
def nothing_cached():
    torch.npu.init()
    torch.npu.synchronize()
    torch.npu.host_empty_cache()


def test_sizes_are_powers_of_two():
    source = torch.arange(5000).to(torch.uint8)
    pinned, change = moved(source.pin_memory, "allocated_bytes.current", "active_bytes.current", "allocations.current",
                           "active_requests.current", "num_host_alloc", "host_alloc_time.count")
    assert change == [8192, 8192, 1, 1, 1, 1]
    assert pinned.is_pinned()
    assert not source.is_pinned()
    assert not torch.empty(0, pin_memory=True).is_pinned()
    assert pinned.equal(source)
    assert pinned.pin_memory() is pinned


def test_a_freed_block_serves_the_next_of_its_size_and_the_last_comes_first():
    first, second = (torch.empty(5000, dtype=torch.uint8, pin_memory=True) for _ in range(2))
    addresses = [first.data_ptr(), second.data_ptr()]
    del first
    del second
    assert torch.empty(8192, dtype=torch.uint8, pin_memory=True).data_ptr() == addresses[1]
    assert torch.empty(4096, dtype=torch.uint8, pin_memory=True).data_ptr() not in addresses


def test_freed_memory_is_cached_until_the_cache_is_emptied():
    pinned = torch.empty(5000, dtype=torch.uint8, pin_memory=True)

    def free():
        nonlocal pinned
        pinned = None
    keys = "active_requests.current", "allocations.current", "num_host_free", "active_bytes.freed"
    assert moved(free, *keys)[1] == [-1, 0, 0, 8192]
    assert moved(torch.npu.host_empty_cache, *keys)[1] == [0, -1, 1, 0]


def test_a_block_that_is_still_copied_from_is_not_reused():
    stream = torch.npu.Stream()
    source = torch.full((5000,), 7, dtype=torch.uint8, pin_memory=True)
    address = source.data_ptr()
    with blocked(stream) as release, torch.npu.stream(stream):
        there = source.to("npu", non_blocking=True)
        del source
        other = torch.full((5000,), 8, dtype=torch.uint8, pin_memory=True)
        assert other.data_ptr() != address
        assert not stream.query()
        release()
        stream.synchronize()
        again = torch.empty(5000, dtype=torch.uint8, pin_memory=True)
        assert again.data_ptr() == address
        assert there.cpu().eq(7).all()


def test_the_copy_to_the_host_is_asynchronous_where_it_may_be():
    stream = torch.npu.Stream()
    there = torch.arange(3000, device="npu")
    torch.npu.synchronize()
    with blocked(stream) as release, torch.npu.stream(stream):
        result = there.to("cpu", non_blocking=True)
        into = torch.zeros(3000, dtype=torch.int64, pin_memory=True)
        into.copy_(there, non_blocking=True)
        assert not stream.query()
        assert result.is_pinned()
        assert into.sum() == 0
        release()
        stream.synchronize()
    assert result.equal(torch.arange(3000))
    assert into.equal(result)


def there_and_back(seed, rounds=60):
    """Copies of numbers that tell them apart, by pinned memory, nobody waiting; the buffers go as soon as they may."""
    draw = random.Random(seed)
    streams = [torch.npu.Stream() for _ in range(3)]
    results = []
    for number in range(rounds):
        stream, count = draw.choice(streams), draw.randrange(1, 40_000)
        with torch.npu.stream(stream):
            source = torch.full((count,), seed * rounds + number, pin_memory=True)
            there = source.to("npu", non_blocking=True)
            results.append((seed * rounds + number, (there + 1).to("cpu", non_blocking=True)))
        if draw.random() < 0.3:
            stream.synchronize()
    for stream in streams:
        stream.synchronize()
    return [number for number, result in results if not result.eq(number + 1).all()]


def test_buffers_of_copies_under_way_are_nobody_elses():
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(there_and_back, range(4))] == [[]] * 4
    torch.npu.synchronize()                  # which looks after what the streams have passed, too
    stats = figures()
    assert stats["active_bytes.current"] == stats["active_requests.current"] == 0
    torch.npu.host_empty_cache()
    assert figures()["allocated_bytes.current"] == 0


def test_flat_and_nested_figures():
    flat, nested = figures(), torch.npu.host_memory_stats_as_nested_dict()
    assert len(flat) == 28
    assert list(flat) == sorted(flat)
    assert flat["host_alloc_time.avg"] == nested["host_alloc_time"]["avg"]
    assert list(nested) == ["num_host_alloc", "num_host_free", "allocations", "active_requests", "allocated_bytes",
                            "active_bytes", "host_alloc_time", "host_free_time"]


def test_resets():
    kept = torch.empty(100, pin_memory=True)
    torch.empty(1 << 20, pin_memory=True)
    torch.npu.reset_peak_host_memory_stats()
    stats = figures()
    assert all(stats[f"{kind}.peak"] == stats[f"{kind}.current"]
               for kind in ("active_bytes", "active_requests", "allocated_bytes", "allocations"))
    torch.npu.reset_accumulated_host_memory_stats()
    stats = figures()
    assert {key: n for key, n in stats.items() if n and key.endswith(("allocated", "freed", "total", "count"))} == {}
    assert stats["num_host_alloc"] == 0
    assert stats["active_bytes.current"] == 512
    assert kept.numel() == 100


FACTORIES = {
    "empty": lambda t, **o: t.empty(2, 3, **o), "zeros": lambda t, **o: t.zeros(2, 3, **o),
    "ones": lambda t, **o: t.ones(2, 3, **o), "full": lambda t, **o: t.full((2, 3), 5., **o),
    "arange": lambda t, **o: t.arange(4, **o), "linspace": lambda t, **o: t.linspace(0, 1, 3, **o),
    "logspace": lambda t, **o: t.logspace(0, 1, 3, **o), "eye": lambda t, **o: t.eye(3, **o),
    "rand": lambda t, **o: t.rand(3, **o), "randn": lambda t, **o: t.randn(3, **o),
    "randint": lambda t, **o: t.randint(9, (3,), **o), "randperm": lambda t, **o: t.randperm(5, **o),
    "tensor": lambda t, **o: t.tensor([[1, 2]], **o), "scalar_tensor": lambda t, **o: t.scalar_tensor(3, **o),
    "empty_like": lambda t, **o: t.empty_like(t.ones(2, 3).t(), **o),
    "zeros_like": lambda t, **o: t.zeros_like(t.ones(2), **o), "ones_like": lambda t, **o: t.ones_like(t.ones(2), **o),
    "full_like": lambda t, **o: t.full_like(t.ones(2), 3, **o), "rand_like": lambda t, **o: t.rand_like(t.ones(2), **o),
    "randn_like": lambda t, **o: t.randn_like(t.ones(2), **o),
    "randint_like": lambda t, **o: t.randint_like(t.ones(2), 4, **o),
    "empty_strided": lambda t, **o: t.empty_strided((2, 3), (1, 2), **o),
    "empty_permuted": lambda t, **o: t.empty_permuted((2, 3), (1, 0), **o),
    "tril_indices": lambda t, **o: t.tril_indices(3, 3, **o), "triu_indices": lambda t, **o: t.triu_indices(3, 3, **o),
    "hann_window": lambda t, **o: t.hann_window(4, **o), "kaiser_window": lambda t, **o: t.kaiser_window(4, **o),
    "new_empty": lambda t, **o: t.ones(2).new_empty(3, **o), "new_zeros": lambda t, **o: t.ones(2).new_zeros((3,), **o),
    "new_ones": lambda t, **o: t.ones(2).new_ones(3, **o), "new_full": lambda t, **o: t.ones(2).new_full((2,), 3, **o),
    "new_empty_strided": lambda t, **o: t.ones(2).new_empty_strided((2, 3), (3, 1), **o),
    "with a gradient": lambda t, **o: t.zeros(3, requires_grad=True, **o),
}
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_make_what_they_make_in_pinned_memory(name):
    torch.manual_seed(3)
    plain = FACTORIES[name](torch)
    torch.manual_seed(3)
    pinned = FACTORIES[name](torch, pin_memory=True)
    assert pinned.is_pinned()
    assert not plain.is_pinned()
    assert (pinned.shape, pinned.stride(), pinned.dtype) == (plain.shape, plain.stride(), plain.dtype)
    assert pinned.requires_grad == plain.requires_grad
    assert pinned.is_leaf
    assert name in UNDEFINED or pinned.equal(plain)


@pytest.mark.filterwarnings("ignore:The argument 'device' of Tensor:DeprecationWarning")
def test_errors():
    torch_cpu = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(3, device="npu", pin_memory=True)
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.tensor([3], device="npu", pin_memory=True)
    with pytest.raises(RuntimeError, match="cannot pin 'npuFloatType' only dense CPU tensors can be pinned"):
        torch.ones(3, device="npu").pin_memory()
    for call in ("t.zeros(2, pin_memory=3)", "t.zeros(2, pin_memory='a')", "t.tensor([1], pin_memory=1)",
                 "t.ones(2).pin_memory('cpu')", "t.ones(2).pin_memory(1.5)", "t.ones(2).record_stream(1)"):
        with pytest.raises((TypeError, RuntimeError)) as expected:
            eval(call, {"t": torch_cpu})
        with pytest.raises(type(expected.value)) as raised:
            eval(call, {"t": torch})
        assert str(raised.value) == str(expected.value), call


SETTINGS = {
    "sizes above the threshold are not rounded": ("pinned_max_round_threshold_mb:1", """
pin(3 * MIB)
assert figures()["allocated_bytes.current"] == 3 * MIB
pin(MIB - 1)
assert figures()["allocated_bytes.current"] == 4 * MIB
pin(4 * MIB - 5)
kept.clear()
pin(4 * MIB - 6)
assert figures()["allocations.current"] == 3
"""),
    "a block too small for a request of its bucket is passed over": ("pinned_max_round_threshold_mb:1", """
pin(3 * MIB)
small = kept[0].data_ptr()
kept.clear()
pin(4 * MIB)
assert kept[0].data_ptr() != small and figures()["allocations.current"] == 2
"""),
    "large blocks are not kept": ("pinned_max_cached_size_mb:1", """
pin(MIB); pin(MIB + 1)
assert figures()["allocated_bytes.current"] == 2 * MIB + 1
kept.clear()
assert figures()["allocated_bytes.current"] == MIB and figures()["num_host_free"] == 1
"""),
    "a reserved segment serves first, in pages, and is never given back": ("pinned_reserve_segment_size_mb:1", """
pin(100); pin(5000); pin(MIB)
first, second, third = (tensor.data_ptr() for tensor in kept)
assert second - first == 4096 and not first <= third < first + MIB
assert figures()["host_alloc_time.count"] == 2 and figures()["allocations.current"] == 3
kept.clear()
torch.npu.host_empty_cache()
assert figures()["allocations.current"] == 2
pin(128)
assert kept[0].data_ptr() == first
"""),
    "settings can change while the program runs": ("", """
from mindtorch.npu.memory import _set_allocator_settings
_set_allocator_settings("pinned_max_round_threshold_mb:1")
pin(3 * MIB)
assert figures()["allocated_bytes.current"] == 3 * MIB
"""),
    "memory may be the process's own": ("pinned_mem_register:True", """
from mindtorch import sim
address = torch.ones(5000, dtype=torch.uint8, pin_memory=True).data_ptr()
again = torch.full((5000,), 7, dtype=torch.uint8, pin_memory=True)
assert again.data_ptr() == address and address % 4096 == 0 and again.is_pinned()
assert "host_memory" not in sim.live_objects()       # which the driver's own would be
stream = torch.npu.Stream()
gate = threading.Event()
torch.npu._launch_host_func(stream, gate.wait)
with torch.npu.stream(stream):
    there = again.to("npu", non_blocking=True)
assert not stream.query()                            # nobody has waited: it is pinned
gate.set()
stream.synchronize()
assert there.sum().item() == 35000
assert figures()["allocated_bytes.current"] == 8192
del again
torch.npu.synchronize()
torch.npu.host_empty_cache()
assert figures()["allocated_bytes.current"] == 0 and torch.npu.npurt().npuHostUnregister(address) != 0
with sim.fault("aclrtHostRegisterV2", 1, 507899):
    try:
        pin(5000)
    except RuntimeError as error:
        assert "aclrtHostRegisterV2 failed" in str(error)
    else:
        raise AssertionError
assert figures()["allocations.current"] == figures()["active_requests.current"] == 0
"""),
    "the thread ends with a device that fails": ("pinned_use_background_threads:True", """
from mindtorch import sim
pin(5000)
thread, = (thread for thread in threading.enumerate() if thread.name == "mindtorch-events")
begun, gate = threading.Event(), threading.Event()
torch.npu._launch_host_func(torch.npu.current_stream(), lambda: (begun.set(), gate.wait()))
begun.wait()
sim.inject_device_fault(507015)                     # the copy's, which is held back until its event is recorded
there = kept[0].to("npu", non_blocking=True)
gate.set()
thread.join()
try:
    torch.npu.synchronize()
except RuntimeError as error:
    assert "507015" in str(error)
else:
    raise AssertionError
"""),
    "a thread looks after what the copies have passed": ("pinned_use_background_threads:True", """
pin(5000)
there = kept[0].to("npu", non_blocking=True)
kept.clear()
assert [thread.name for thread in threading.enumerate()].count("mindtorch-events") == 1
there.sum().item()
torch.npu.current_stream().synchronize()
while figures()["active_requests.current"]:          # no request and no synchronize() of the device in between
    time.sleep(0.001)
pin(3 * MIB)
"""),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name):
    text, code = SETTINGS[name]
    run(f"""
import threading, time
import mindtorch as torch
MIB = 1 << 20
kept = []
figures = torch.npu.host_memory_stats
def pin(nbytes):
    kept.append(torch.empty(nbytes, dtype=torch.uint8, pin_memory=True))
torch.npu.init()
{code}""", **({"PYTORCH_NPU_ALLOC_CONF": text} if text else {}))
