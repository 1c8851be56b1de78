"""The caching allocator: rounding, splitting, merging, figures, limits; a random run against a model."""
import itertools
import random

import pytest

import mindtorch as torch
from mindtorch import sim

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(autouse=True)
def _clean_cache():
    torch.npu.synchronize()
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    torch.npu.reset_accumulated_memory_stats()


def take(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device="npu")


def stats(key):
    return torch.npu.memory_stats()[key]


def blocks():
    """(offset, size, state) of every block, segment by segment."""
    return [[(b["address"] - s["address"], b["size"], b["state"]) for b in s["blocks"]]
            for s in torch.npu.memory_snapshot()]


@pytest.mark.parametrize(("nbytes", "block", "segment"), [
    (1, 512, 2 * MIB), (480, 512, 2 * MIB), (481, 1024, 2 * MIB), (512, 1024, 2 * MIB),
    (MIB - 32, MIB, 2 * MIB), (MIB, MIB + 512, 20 * MIB), (10 * MIB, 10 * MIB + 512, 12 * MIB),
    (12 * MIB, 12 * MIB + 512, 14 * MIB),
])
def test_sizes_are_rounded_as_in_torch_npu(nbytes, block, segment):
    tensor = take(nbytes)
    assert torch.npu.memory_reserved() == segment
    # The rest of a large segment is split off only where it is larger than 1 MiB.
    small = nbytes <= MIB - 32
    rest = segment - block
    assert torch.npu.memory_allocated() == (block if rest >= (512 if small else MIB + 1) else segment)
    assert stats("requested_bytes.all.current") == nbytes
    assert tensor.data_ptr() % 512 == torch.npu.memory_snapshot()[0]["address"] % 512


def test_split_and_merge():
    a, b, c = take(1000), take(1000), take(1000)
    assert blocks() == [[(0, 1536, "active_allocated"), (1536, 1536, "active_allocated"),
                         (3072, 1536, "active_allocated"), (4608, 2 * MIB - 4608, "inactive")]]
    del b
    assert [state for _, _, state in blocks()[0]] == ["active_allocated", "inactive"] * 2
    del a
    assert blocks()[0][0] == (0, 3072, "inactive")
    assert stats("inactive_split.all.current") == 2
    del c
    assert blocks() == [[(0, 2 * MIB, "inactive")]]
    assert stats("inactive_split_bytes.all.current") == 0


def test_best_fit_and_lowest_address():
    kept = [take(n) for n in (5000, 100, 2000, 100, 2000, 100)]
    first_2000, second_2000 = kept[2].data_ptr(), kept[4].data_ptr()
    kept[0] = kept[2] = kept[4] = None
    assert take(1900).data_ptr() == first_2000
    one = take(1900)
    other = take(1900)
    assert (one.data_ptr(), other.data_ptr()) == (first_2000, second_2000)


def test_streams_have_pools_of_their_own():
    tensor = take(1000)
    address = tensor.data_ptr()
    del tensor
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        tensor = take(1000)
        assert tensor.data_ptr() != address
    del tensor
    assert take(1000).data_ptr() == address


def test_statistics():
    a = take(1000)
    b = take(3 * MIB)
    assert stats("allocation.all.current") == 2
    assert stats("allocation.small_pool.current") == stats("allocation.large_pool.current") == 1
    assert stats("allocated_bytes.small_pool.current") == 1536
    assert stats("segment.all.current") == 2
    assert stats("reserved_bytes.all.current") == 22 * MIB
    peak = torch.npu.memory_allocated()
    del a, b
    assert torch.npu.memory_allocated() == 0
    assert torch.npu.max_memory_allocated() == peak
    assert stats("allocated_bytes.all.freed") == peak
    torch.npu.reset_peak_memory_stats()
    assert torch.npu.max_memory_allocated() == 0
    torch.npu.reset_accumulated_memory_stats()
    assert stats("allocated_bytes.all.allocated") == 0
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == 0
    assert stats("num_device_free") == 2


def test_empty_tensors_take_no_memory():
    tensor = torch.empty((0, 5), device="npu")
    assert torch.npu.memory_allocated() == 0
    assert tensor.data_ptr() == 0


def test_cached_memory_is_given_back_before_giving_up():
    total = torch.npu.mem_get_info()[1]
    big = take(total // 2)
    del big
    assert torch.npu.memory_reserved() >= total // 2
    other = take(total - total // 4)
    assert stats("num_alloc_retries") == 1
    assert stats("num_ooms") == 0
    assert other is not None


def test_memory_fraction():
    try:
        torch.npu.set_per_process_memory_fraction(0.5)
        assert torch.npu.get_per_process_memory_fraction() == 0.5
        total = torch.npu.mem_get_info()[1]
        with pytest.raises(torch.OutOfMemoryError, match=r"16\.00 GiB allowed"):
            take(total // 2 + 1)
        assert take(total // 4) is not None
    finally:
        torch.npu.set_per_process_memory_fraction(1.0)
    with pytest.raises(TypeError, match="must be `float`"):
        torch.npu.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="Allowed range: 0~1"):
        torch.npu.set_per_process_memory_fraction(1.5)


def check_model(live):
    """Every live tensor lies inside one block, blocks cover their segments, and the figures are their sums."""
    segments = torch.npu.memory_snapshot()
    allocated, reserved, used = 0, 0, {}
    for segment in segments:
        at = segment["address"]
        reserved += segment["total_size"]
        states = [block["state"] for block in segment["blocks"]]
        assert ("inactive", "inactive") not in itertools.pairwise(states)
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
            if block["state"] == "active_allocated":
                allocated += block["size"]
                used[block["address"]] = block["size"]
        assert at == segment["address"] + segment["total_size"]
    assert used.keys() == {tensor.data_ptr() for tensor in live}
    for tensor in live:
        assert used[tensor.data_ptr()] >= tensor.numel() + 32
    assert torch.npu.memory_allocated() == allocated
    assert torch.npu.memory_reserved() == reserved
    assert stats("inactive_split.all.current") == sum(
        1 for s in segments if len(s["blocks"]) > 1 for b in s["blocks"] if b["state"] == "inactive")


@pytest.mark.parametrize("seed", range(4))
def test_random_run_against_a_model(seed):
    choose = random.Random(seed)
    live = []
    for step in range(800):
        if live and choose.random() < 0.48:
            live.pop(choose.randrange(len(live)))
        else:
            live.append(take(choose.choice((1, 100, 5000, 70_000, 900_000, 2 * MIB, 11 * MIB)) + choose.randrange(999)))
        if step % 20 == 0:
            check_model(live)
        if step % 250 == 0:
            torch.npu.empty_cache()
            check_model(live)
    live.clear()
    check_model(live)
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == 0
    assert "device_memory" not in sim.live_objects()
