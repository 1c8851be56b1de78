"""What programs that look after their memory rely on: figures before the first use, sums, tables, running out."""
import threading
from collections import OrderedDict

import pytest
from blocked import blocked
from process import run

import mindtorch as torch
from mindtorch import npu
from mindtorch.npu._memory_summary import summary

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ARRAYS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
          "inactive_split_bytes", "requested_bytes")
COUNTERS = [f"{kind}.{pool}" for kind in ARRAYS for pool in ("all", "small_pool", "large_pool")]
COUNTERS += ["oversize_allocations", "oversize_segments"]
SUMS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
        "num_oom_rejections")


@pytest.fixture(autouse=True)
def _clean_cache():
    npu.synchronize()
    npu.empty_cache()
    npu.reset_peak_memory_stats()
    npu.reset_accumulated_memory_stats()


def take(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device="npu")


def states(pointer):
    """The states of the blocks at an address."""
    return [block["state"] for segment in npu.memory_snapshot() for block in segment["blocks"]
            if block["address"] == pointer]


# --- figures ---------------------------------------------------------------------------------------------------------

def test_a_process_that_has_used_nothing_has_no_figures():
    run("""
from collections import OrderedDict
import mindtorch as torch
assert torch.npu.memory_allocated() == torch.npu.max_memory_reserved() == 0
stats = torch.npu.memory_stats()
assert type(stats) is OrderedDict and len(stats) == 0
assert torch.npu.memory_stats_as_nested_dict() == {}
assert {*torch.npu.host_memory_stats().values()} == {0} and len(torch.npu.host_memory_stats_as_nested_dict()) == 8
torch.npu.reset_peak_memory_stats()
torch.npu.reset_accumulated_memory_stats()
torch.npu.empty_cache()
assert not torch.npu.is_initialized()
""")


def test_requested_bytes_are_the_sum_of_what_callers_asked_for():
    sizes = [1, 480, 481, 5000, MIB - 32, MIB, 7 * MIB + 3, 13841203]
    kept = [take(size) for size in sizes]
    stats = npu.memory_stats()
    assert stats["requested_bytes.all.current"] == sum(sizes)
    assert stats["requested_bytes.small_pool.current"] == sum(sizes[:5])
    assert stats["requested_bytes.large_pool.current"] == sum(sizes[5:])
    requested = [segment["requested_size"] for segment in npu.memory_snapshot()]
    assert sum(requested) == sum(sizes)
    kept.clear()
    assert npu.memory_stats()["requested_bytes.all.current"] == 0


def test_the_keys_are_those_of_torch_npu():
    stats = npu.memory_stats()
    assert type(stats) is OrderedDict
    assert len(stats) == 123
    assert stats["max_split_size"] == -1
    assert list(stats) == sorted([*(f"{counter}.{metric}" for counter in COUNTERS
                                    for metric in ("current", "peak", "allocated", "freed")), *SUMS, "max_split_size"])
    assert list(npu.memory_stats_as_nested_dict()) == [
        "num_alloc_retries", "num_ooms", "max_split_size", "num_sync_all_streams", "num_device_alloc",
        "num_device_free", "num_oom_rejections", *ARRAYS, "oversize_allocations", "oversize_segments"]


def moved_figures():
    """Every kind of counter away from zero, a failed request included; what is kept."""
    kept = [take(1000), take(3 * MIB)]
    take(2000), take(5 * MIB)
    with pytest.raises(torch.OutOfMemoryError):
        take(2 * npu.mem_get_info()[1])
    return kept


def test_resetting_the_peaks():
    kept = moved_figures()
    npu.reset_peak_memory_stats()
    stats = npu.memory_stats()
    assert {name: stats[f"{name}.peak"] for name in COUNTERS} == {name: stats[f"{name}.current"] for name in COUNTERS}
    assert stats["num_ooms"] == 1
    assert len(kept) == 2


def test_resetting_the_sums():
    kept = moved_figures()
    before = npu.memory_stats()
    npu.reset_accumulated_memory_stats()
    stats = npu.memory_stats()
    assert before["num_ooms"] == before["num_alloc_retries"] == 1
    assert {stats[f"{name}.{metric}"] for name in COUNTERS for metric in ("allocated", "freed")} == {0}
    assert {name: stats[name] for name in SUMS} == dict.fromkeys(SUMS, 0)
    unchanged = [f"{name}.{metric}" for name in COUNTERS for metric in ("current", "peak")] + ["max_split_size"]
    assert {key: stats[key] for key in unchanged} == {key: before[key] for key in unchanged}
    assert len(kept) == 2


# --- the table -------------------------------------------------------------------------------------------------------

def test_the_table_of_a_device():
    kept = [take(1000), take(3 * MIB)]
    text = npu.memory_summary(0, abbreviated=True)
    assert text == "".join(f"|{line:75}|\n" for line in (
        "=" * 75,
        "                  PyTorch NPU memory summary, device ID 0",
        "-" * 75,
        "            NPU OOMs: 0             |        npuMalloc retries: 0",
        "=" * 75,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
        "-" * 75,
        " Allocated memory      |    3074 KB |    3074 KB |    3074 KB |       0 B  ",
        "-" * 75,
        " Active memory         |    3074 KB |    3074 KB |    3074 KB |       0 B  ",
        "-" * 75,
        " NPU reserved memory   |   22528 KB |   22528 KB |   22528 KB |       0 B  ",
        "-" * 75,
        " Non-releasable memory |   19454 KB |   19454 KB |   19454 KB |       0 B  ",
        "-" * 75,
        " Allocations           |       2    |       2    |       2    |       0    ",
        "-" * 75,
        " Active allocs         |       2    |       2    |       2    |       0    ",
        "-" * 75,
        " NPU reserved segments |       2    |       2    |       2    |       0    ",
        "-" * 75,
        " Non-releasable allocs |       2    |       2    |       2    |       0    ",
        "-" * 75,
        " Oversize allocations  |       0    |       0    |       0    |       0    ",
        "-" * 75,
        " Oversize NPU segments |       0    |       0    |       0    |       0    ",
        "=" * 75))
    assert len(kept) == 2


@pytest.mark.parametrize(("total", "part", "cells"), [
    (768 * KIB - 1, 5, (" 786431 B ", "      5 B ")), (768 * KIB, 2047, ("    768 KB", "      1 KB")),
    (768 * MIB, MIB, ("    768 MB", "      1 MB")), (900 * GIB, GIB, ("    900 GB", "      1 GB"))])
def test_a_column_has_the_unit_of_its_first_row(total, part, cells):
    text = summary({"allocated_bytes.all.peak": total, "allocated_bytes.small_pool.peak": part}, 3, False)
    lines = text.splitlines()
    assert len(lines) == 43
    assert {len(line) for line in lines} == {77}
    assert lines[1] == f"|{'':18}PyTorch NPU memory summary, device ID 3{'':18}|"
    assert [lines[number].split("|")[3] for number in (7, 9)] == [f" {cell} " for cell in cells]
    assert lines[7].split("|")[2] == "       0 B  "


# --- several streams -------------------------------------------------------------------------------------------------

def test_a_block_that_another_stream_uses_is_free_when_that_stream_is_done():
    stream = npu.Stream()
    block = take(5000)
    pointer, before = block.data_ptr(), npu.memory_stats()
    with blocked(stream) as release:
        block.record_stream(stream)
        del block
        stats = npu.memory_stats()
        for name, change in (("allocation", -1), ("allocated_bytes", -5120), ("active", 0), ("active_bytes", 0),
                             ("requested_bytes", 0)):
            assert stats[f"{name}.all.current"] - before[f"{name}.all.current"] == change, name
        assert states(pointer) == ["active_pending_free"]
        other = take(5000)
        assert other.data_ptr() != pointer
        release()
        stream.synchronize()
    again = take(5000)                       # this request finds that the stream is done
    assert again.data_ptr() == pointer
    assert npu.memory_stats()["active.all.current"] == 2
    assert other is not None


def test_a_stream_that_is_erased_holds_a_block_no_longer():
    stream = npu.Stream()
    block = take(5000)
    pointer = block.data_ptr()
    with blocked(stream) as release:
        block.record_stream(stream)
        with npu.stream(npu.Stream()):
            npu._erase_stream(block, stream)              # not by the owner: nothing happens
        del block
        held = take(5000)
        assert held.data_ptr() != pointer
        release()
        stream.synchronize()
    block = take(5000)
    assert block.data_ptr() == pointer
    with blocked(stream) as release:
        block.record_stream(stream)
        npu.current_stream().wait_event(stream.record_event())
        npu._erase_stream(block, stream)
        del block
        assert take(5000).data_ptr() == pointer           # at once: what uses it next comes after the event
        assert not stream.query()
    assert held is not None


def test_memory_that_no_other_thread_may_give_back():
    take(1000)
    freed = npu.memory_stats()["num_device_free"]
    with npu.memory._free_mutex():
        thread = threading.Thread(target=npu.empty_cache)
        thread.start()
        thread.join(timeout=0.05)
        assert thread.is_alive()
        assert npu.memory_stats()["num_device_free"] == freed
    thread.join()
    assert npu.memory_stats()["num_device_free"] == freed + 1
    take(1000)
    with npu.memory._free_mutex():
        npu.empty_cache()                                 # the thread itself may
    assert npu.memory_reserved() == 0


# --- running out -----------------------------------------------------------------------------------------------------

def test_a_limit_that_is_passed_and_life_after_it():
    total = npu.mem_get_info()[1]
    limit = f"{total * 0.01 / MIB:.2f} MiB allowed"
    npu.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises(torch.OutOfMemoryError, match=limit):
            take(total // 50)
        stats = npu.memory_stats()
        assert stats["num_ooms"] == stats["num_alloc_retries"] == 1
        assert stats["allocated_bytes.all.current"] == 0
        assert take(1000).fill_(2).sum().item() == 2000
    finally:
        npu.set_per_process_memory_fraction(1.0)
    assert npu.get_per_process_memory_fraction() == 1.0


def test_the_message_of_running_out_has_torch_npu_s_figures_in_their_order():
    kept = take(1000)
    free, total = npu.mem_get_info()
    with pytest.raises(torch.OutOfMemoryError) as raised:
        take(2 * total)
    assert str(raised.value).startswith(
        f"NPU out of memory. Tried to allocate {2 * total / GIB:.2f} GiB (NPU 0; {total / GIB:.2f} GiB total "
        f"capacity; 1.50 KiB already allocated; 1.50 KiB current active; {free / GIB:.2f} GiB free; "
        "2.00 MiB reserved in total")
    assert "max_split_size_mb" in str(raised.value)
    assert npu.memory_allocated() == 1536
    assert kept.data_ptr() != 0


def test_observers_of_running_out_may_use_memory():
    from mindtorch._npu import allocator
    seen = []

    def observe(*figures):
        thread = threading.Thread(target=lambda: seen.append((figures, take(1000).numel())))
        thread.start()
        thread.join(timeout=60)              # for ever, were the allocator's lock held here
    free, total = npu.mem_get_info()
    npu.memory._attach_out_of_memory_observer(observe)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            take(2 * total)
    finally:
        allocator.OOM_OBSERVERS.remove(observe)
    assert seen == [((0, 2 * total + 2 * MIB, total, free), 1000)]
