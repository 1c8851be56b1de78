"""PYTORCH_NPU_ALLOC_CONF: its errors beside torch's own parser, and what each setting does."""
import pytest
from process import run

from mindtorch._npu.alloc_config import CHANGEABLE, AllocConfig, parse
from mindtorch.sim import toolkit

pytestmark = pytest.mark.one_mode

torch = pytest.importorskip("torch")

MIB = 1 << 20
TAKE = """
import mindtorch as torch
from mindtorch import sim
MIB = 1 << 20
def take(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device="npu")
def stats(key):
    return torch.npu.memory_stats()[key]
"""

TEXTS = [
    "max_split_size_mb:10", "max_split_size_mb:64", "max_split_size_mb:abc", "max_split_size_mb:", "max_split_size_mb",
    "max_split_size_mb=64", "max_split_size_mb:64,", "max_split_size_mb:99999999999999999999", "max_split_size_mb:64.5",
    " max_split_size_mb : 64 ", "max_non_split_rounding_mb:10", "max_non_split_rounding_mb:20",
    "garbage_collection_threshold:0", "garbage_collection_threshold:1.0", "garbage_collection_threshold:0.5",
    "garbage_collection_threshold:x", "roundup_power2_divisions:3", "roundup_power2_divisions:4",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "roundup_power2_divisions:[256:1,512:3]",
    "roundup_power2_divisions:[300:1]", "roundup_power2_divisions:[256:0]", "roundup_power2_divisions:[]",
    "roundup_power2_divisions:[256:1", "roundup_power2_divisions:[>:8]", "roundup_power2_divisions:0",
    "expandable_segments:true", "expandable_segments:True", "expandable_segments:False", "expandable_segments:1",
    "large_segment_size_mb:10", "large_segment_size_mb:40", "pinned_use_background_threads:True",
    "pinned_max_round_threshold_mb:4", "pinned_max_cached_size_mb:4", "unknown", "", ",", ":", "[",
]


def outcome(call):
    try:
        call()
    except Exception as error:      # noqa: BLE001 - the type is what is compared
        return type(error), str(error).splitlines()[0]
    return None, ""


@pytest.fixture
def torch_s_parser():
    """torch's own, which keeps what it was told: each text starts from a large segment of 20 MiB."""
    yield torch._C._accelerator_setAllocatorSettings
    torch._C._accelerator_setAllocatorSettings("large_segment_size_mb:20")


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_refused_as_in_torch(text, torch_s_parser):
    (theirs, message), (ours, wording) = outcome(lambda: torch_s_parser(text)), outcome(lambda: parse(text))
    assert ours is theirs, (message, wording)
    if theirs is ValueError and "sto" not in message:
        assert wording.strip() == message.strip()


def test_what_is_read():
    config = parse("max_split_size_mb:64,garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,1024:4,>:8]")
    assert (config.max_split_size_mb, config.garbage_collection_threshold) == (64, 0.8)
    assert config.roundup_power2_divisions == (1,) * 9 + (0, 4) + (8,) * 5
    assert parse("roundup_power2_divisions:4").roundup_power2_divisions == (4,) * 16
    assert parse("segment_size_mb:40").large_segment_size_mb == 40
    assert parse("page_size:1g,base_addr_aligned_kb:0").page_size == "1g"
    assert parse("") == AllocConfig()


@pytest.mark.parametrize(("text", "error", "message"), [
    ("unknown:1", ValueError, "Unrecognized key 'unknown' in NPU allocator config"),
    ("expandable_segments:True,max_split_size_mb:64", RuntimeError, "cannot be enabled with `expandable_segments`"),
    ("expandable_segments:True,garbage_collection_threshold:0.5", RuntimeError,
     "cannot be enabled with `expandable_segments`"),
    ("base_addr_aligned_kb:17", RuntimeError, "expected 0 to 16"),
    ("segment_size_mb:600", RuntimeError, "expected 20 to 512"),
    ("page_size:2m", RuntimeError, "expected '1g'"),
    ("per_process_memory_fraction:1.5", RuntimeError, r"set it in \[0.0, 1.0\]"),
])
def test_what_torch_npu_refuses(text, error, message):
    with pytest.raises(error, match=message):
        parse(text)


def test_the_setting_that_changes_nothing():
    with pytest.warns(UserWarning, match="pin_memory_expandable_segments:True in the allocator's settings changes"):
        parse("pin_memory_expandable_segments:True")
    assert not parse("pin_memory_expandable_segments:False").pin_memory_expandable_segments


def test_a_running_program_may_change_some():
    base = parse("garbage_collection_threshold:0.5")
    assert parse("max_split_size_mb:64", base, CHANGEABLE).garbage_collection_threshold == 0.5
    with pytest.raises(ValueError, match="unsupported setting: garbage_collection_threshold"):
        parse("garbage_collection_threshold:0.5", None, CHANGEABLE)


def test_settings_of_a_running_program():
    run(TAKE + """
change = torch.npu.memory._set_allocator_settings
change("expandable_segments:True,release_lock_on_npumalloc:True")       # before the first use of a device
grown = take(3 * MIB)
change("expandable_segments:False,max_split_size_mb:64,max_non_split_rounding_mb:30")
whole = take(100 * MIB)
assert sorted(s["is_expandable"] for s in torch.npu.memory_snapshot()) == [False, True]
assert stats("oversize_segments.current") == 1 and stats("max_split_size") == -1         # as it was at first
address = whole.data_ptr()
del whole
assert take(75 * MIB).data_ptr() == address          # 27 MiB more than it needs
change("per_process_memory_fraction:0.5")
assert torch.npu.get_per_process_memory_fraction() == 0.5
change("throw_on_npumalloc_oom:True")
for refused in (0, 1):
    change(f"throw_on_npumalloc_oom:{bool(refused)}")
    try:
        take(400 * MIB)
    except torch.OutOfMemoryError:
        pass
    else:
        raise AssertionError
    assert stats("num_oom_rejections") == refused and stats("num_ooms") == 1
""", MINDTORCH_SIM_MEMORY="512MiB")


def test_both_variables_are_an_error():
    code = """
import mindtorch as torch
try:
    torch.ones(1, device="npu")
except RuntimeError as error:
    print(error)
"""
    shown = run(code, PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:64", PYTORCH_ALLOC_CONF="max_split_size_mb:64").stdout
    assert "PYTORCH_NPU_ALLOC_CONF and PYTORCH_ALLOC_CONF are both set" in shown


def test_max_split_size_keeps_large_blocks_whole():
    run(TAKE + """
block = take(100 * MIB)
assert stats("max_split_size") == 64 * MIB
assert stats("oversize_allocations.current") == stats("oversize_segments.current") == 1
del block
other = take(2 * MIB)                                # leaves the oversize block alone
assert torch.npu.memory_reserved() == 122 * MIB
again = take(90 * MIB)                               # takes it whole: 10 MiB of rounding are allowed
assert torch.npu.memory_reserved() == 122 * MIB
assert torch.npu.memory_allocated() == 102 * MIB + other.numel() + 512
del again
smaller = take(70 * MIB)                             # not 30 MiB
assert torch.npu.memory_reserved() == 194 * MIB
""", PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:64")


def test_oversize_blocks_go_before_everything_else():
    run(TAKE + """
kept, big = take(2 * MIB), [take(150 * MIB), take(200 * MIB)]
del big
small = take(5 * MIB)
del small
reserved = torch.npu.memory_reserved()
other = take(300 * MIB)                              # both large ones go: neither is enough by itself
assert stats("num_alloc_retries") == 0 and stats("num_device_free") == 2
assert torch.npu.memory_reserved() == reserved - 352 * MIB - 2 * MIB + 302 * MIB, torch.npu.memory_reserved() / MIB
""", PYTORCH_NPU_ALLOC_CONF="max_split_size_mb:64", MINDTORCH_SIM_MEMORY="512MiB")


def test_garbage_collection_frees_the_oldest():
    run(TAKE + """
total = torch.npu.mem_get_info()[1]
torch.npu.set_per_process_memory_fraction(0.9)
blocks = [take(20 * MIB) for _ in range(5)]          # segments of 22 MiB
pointers = [block.data_ptr() for block in blocks]
while blocks:
    blocks.pop(0)
for _ in range(50):
    take(100)                                        # time goes by
young = take(20 * MIB)
del young
extra = take(400 * MIB)                              # beyond half of what is allowed
assert stats("num_device_free") == 0
more = take(30 * MIB)
assert stats("num_device_free") >= 1 and stats("num_alloc_retries") == 0
""", PYTORCH_NPU_ALLOC_CONF="garbage_collection_threshold:0.5", MINDTORCH_SIM_MEMORY="1GiB")


def test_searches_for_small_blocks_make_no_large_block_older():
    run(TAKE + """
torch.npu.set_per_process_memory_fraction(0.9)
held, small = take(2 * MIB), take(100)               # the rest of the segment of the first serves the searches below
cached = [take(20 * MIB) for _ in range(3)]          # segments of 22 MiB
kept = take(396 * MIB)
for _ in range(3):
    del cached[0]
    take(5 * MIB)
    for _ in range(50 if len(cached) == 2 else 0):
        take(100)
assert stats("num_device_free") == 0
more = take(30 * MIB)                                # a little more than half of what is allowed
assert stats("num_device_free") == 2                 # of ages 4, 3 and 2; with small searches 54, 3 and 2
""", PYTORCH_NPU_ALLOC_CONF="garbage_collection_threshold:0.5", MINDTORCH_SIM_MEMORY="1GiB")


def test_sizes_are_rounded_to_parts_of_powers_of_two():
    run(TAKE + """
for nbytes, block in ((5 * MIB, 5 * MIB + 512), (300 * MIB, 320 * MIB), (512 * MIB - 32, 512 * MIB)):
    tensor = take(nbytes)
    segment = [s for s in torch.npu.memory_snapshot() if any(b["address"] == tensor.data_ptr() for b in s["blocks"])]
    assert block <= segment[0]["total_size"] < block + 20 * MIB, (nbytes, segment[0]["total_size"])
    del tensor
    torch.npu.empty_cache()
""", PYTORCH_NPU_ALLOC_CONF="roundup_power2_divisions:[128:0,256:4,512:4,>:1]")


PAGES = """
assert torch.npu.memory_reserved() == 0
small = take(1000)
assert torch.npu.memory_reserved() == 2 * MIB
first, second, third = take(3 * MIB), take(900 * MIB), take(200 * MIB)
assert torch.npu.memory_reserved() == 2050 * MIB     # the first two share a page of 1 GiB
assert first.fill_(2).sum().item() == 6 * MIB
with sim.fault("{}", 1, 507899):
    try:
        take(2000 * MIB)
    except RuntimeError:
        pass
    else:
        raise AssertionError
"""


@pytest.mark.parametrize(("text", "function"), [
    ("page_size:1g", "aclrtMalloc"), ("page_size:1g,expandable_segments:True", "aclrtMallocPhysical")])
def test_pages_of_a_gigabyte(text, function):
    run(TAKE + PAGES.format(function), PYTORCH_NPU_ALLOC_CONF=text)


@pytest.mark.parametrize("name", ["large_segment_size_mb", "segment_size_mb"])
@pytest.mark.parametrize("more", ["", ",expandable_segments:True"])
def test_segments_of_another_size(name, more):
    run(TAKE + """
first = take(3 * MIB)
assert torch.npu.memory_reserved() == 40 * MIB
""", PYTORCH_NPU_ALLOC_CONF=f"{name}:40{more}")


def test_events_are_looked_at_only_where_no_block_is_free():
    run(TAKE + """
stream = torch.npu.Stream()
spare, block = take(5000), take(5000)
address = block.data_ptr()
block.record_stream(stream)
with torch.npu.stream(stream):
    block.fill_(1)
del spare, block
stream.synchronize()
other = take(5000)                                   # there is a free one
assert other.data_ptr() != address and stats("active.all.current") == 2
rest = [take(1 << 20) for _ in range(20)]            # there is none: these have none in the small pool
assert stats("active.all.current") == 21, stats("active.all.current")
assert take(5000).data_ptr() == address
""", PYTORCH_NPU_ALLOC_CONF="multi_stream_lazy_reclaim:True,release_lock_on_npumalloc:True")


def test_expandable_segments_grow_in_place():
    run(TAKE + """
first, second = take(15 * MIB), take(30 * MIB)
segment, = torch.npu.memory_snapshot()
assert segment["is_expandable"] and segment["total_size"] == torch.npu.memory_reserved() == 60 * MIB
assert stats("segment.all.current") == 0 and stats("inactive_split.all.current") == 0
assert stats("num_device_alloc") == 2
first.fill_(3), second.fill_(4)
assert first.sum().item() == 45 * MIB and second.sum().item() == 120 * MIB
small = take(100)
assert {s["segment_type"]: s["total_size"] for s in torch.npu.memory_snapshot()}["small"] == 2 * MIB
del first
third = take(10 * MIB)                               # into the gap
assert torch.npu.memory_reserved() == 62 * MIB
del second, third, small
torch.npu.empty_cache()
assert torch.npu.memory_reserved() == 0 and torch.npu.memory_snapshot() == []
from mindtorch import sim
assert "reserved_address" not in sim.live_objects() and "physical_memory" not in sim.live_objects()
""", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


@pytest.mark.parametrize(("settings", "alignment"), [
    ("expandable_segments:True", 16 << 10), ("expandable_segments:True,base_addr_aligned_kb:3", 3 << 10),
    ("expandable_segments:True,base_addr_aligned_kb:0", 0), ("base_addr_aligned_kb:16", 0)])
def test_where_large_blocks_start(settings, alignment):
    run(TAKE + f"alignment = {alignment}" + """
first, large, small, other = take(3 * MIB), take(2 * MIB - 32), take(2 * MIB - 544), take(2 * MIB)
end = first.data_ptr() + 3 * MIB + 512
gap = -end % alignment if alignment else 0
assert large.data_ptr() == end + gap
assert small.data_ptr() == large.data_ptr() + 2 * MIB                # below 2 MiB: wherever there is room
end = small.data_ptr() + 2 * MIB - 512
assert other.data_ptr() == end + (-end % alignment if alignment else 0)
allocated = torch.npu.memory_allocated()
assert allocated == sum(-(-(t.numel() + 32) // 512) * 512 for t in (first, large, small, other))
if gap >= 1024:
    states = [block["state"] for block in torch.npu.memory_snapshot()[0]["blocks"]]
    if states[0] == "inactive":                          # the segment itself may start between two multiples of 3 KiB
        del states[0]
    assert states[:3] == ["active_allocated", "inactive", "active_allocated"]
del first, large, small, other
segment, = torch.npu.memory_snapshot()
assert [block["state"] for block in segment["blocks"]] == ["inactive"]
""", PYTORCH_NPU_ALLOC_CONF=settings)


@pytest.mark.parametrize(("soc", "version", "tail"), [
    ("Ascend950PR_9599", "9.1.0", 0), ("Ascend950PR_9599", "9.0.2", 32), ("Ascend910B1", "9.1.0", 32)])
def test_who_needs_bytes_past_the_end(soc, version, tail, tmp_path):
    info = tmp_path / "share" / "info" / "runtime"
    info.mkdir(parents=True)
    (info / "version.info").write_text(f"Version={version}\n")
    (tmp_path / "lib64").symlink_to(toolkit() / "lib64")
    run(TAKE + f"tail = {tail}" + """
block = take(1024)
assert torch.npu.memory_allocated() == (1024 if tail == 0 else 1536)
""", MINDTORCH_NPU="cann", MINDTORCH_CANN_HOME=str(tmp_path), MINDTORCH_SIM_SOC=soc)


def test_pages_between_used_blocks_go_back():
    run(TAKE + """
tensors = [take(40 * MIB) for _ in range(4)]
used = [tensors[0].fill_(1), tensors[2].fill_(2)]
tensors = None
torch.npu.empty_cache()
# Whole granules of 20 MiB that no block touches are gone, and the others untouched.
assert torch.npu.memory_reserved() == 120 * MIB
assert len(torch.npu.memory_snapshot()) == 2
assert [int(t[-1]) for t in used] == [1, 2]
more = take(100 * MIB)                               # spans the hole and what follows
assert torch.npu.memory_reserved() <= 240 * MIB
assert [int(t.sum()) for t in used] == [40 * MIB, 80 * MIB]
""", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


def test_memory_mapped_before_a_free_block_is_one_with_it():
    run(TAKE + """
first, second, third = take(40 * MIB - 32), take(20 * MIB - 32), take(20 * MIB - 32)
del first
torch.npu.empty_cache()
del second
again = take(30 * MIB)                               # maps 40 MiB, before 20 MiB that are free
assert torch.npu.memory_reserved() == 80 * MIB
other = take(25 * MIB)
assert torch.npu.memory_reserved() == 80 * MIB
""", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


def test_expandable_segments_out_of_memory():
    run(TAKE + """
kept = take(100 * MIB)
try:
    take(600 * MIB)
except torch.OutOfMemoryError:
    pass
else:
    raise AssertionError
assert torch.npu.memory_allocated() == 100 * MIB + 512
assert torch.npu.memory_reserved() == 120 * MIB      # what was mapped for the rest went back
assert take(300 * MIB).fill_(1).sum().item() == 300 * MIB
""", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True", MINDTORCH_SIM_MEMORY="512MiB")


def test_addresses_alone_are_given_back():
    run(TAKE + """
block = take(30 * MIB)
del block
free = torch.npu.mem_get_info()[0]
torch.npu.memory.empty_virt_addr_cache()
assert torch.npu.memory_reserved() == 0
assert torch.npu.mem_get_info()[0] == free           # the memory stays with the process
again = take(30 * MIB).fill_(7)
assert torch.npu.mem_get_info()[0] == free and int(again[-1]) == 7
del again
torch.npu.empty_cache()
assert torch.npu.mem_get_info()[0] > free
""", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


def test_addresses_cannot_be_given_back_without_expandable_segments():
    import mindtorch
    with pytest.raises(RuntimeError, match="expandable_segments:True"):
        mindtorch.npu.memory.empty_virt_addr_cache()


def test_the_policy_that_refuses_at_once():
    run(TAKE + """
cached = take(300 * MIB)
del cached
try:
    take(400 * MIB)
except torch.OutOfMemoryError as error:
    assert "throw_on_npumalloc_oom" in str(error)
else:
    raise AssertionError
assert stats("num_oom_rejections") == 1 and stats("num_ooms") == stats("num_alloc_retries") == 0
assert torch.npu.memory_reserved() == 302 * MIB
""", PYTORCH_NPU_ALLOC_CONF="throw_on_npumalloc_oom:True", MINDTORCH_SIM_MEMORY="512MiB")


def test_fraction_from_the_settings():
    run(TAKE + """
assert torch.npu.get_per_process_memory_fraction() == 0.25
try:
    take(torch.npu.mem_get_info()[1] // 2)
except torch.OutOfMemoryError as error:
    assert "8.00 GiB allowed" in str(error)
else:
    raise AssertionError
""", PYTORCH_NPU_ALLOC_CONF="per_process_memory_fraction:0.25")


def test_uncached_memory():
    run(TAKE + """
tensor = take(1000).fill_(5)
assert torch.npu.memory_reserved() == 1032 and stats("num_device_alloc") == 1
del tensor
assert torch.npu.memory_reserved() == 0 and stats("num_device_free") == 1
""", PYTORCH_NO_NPU_MEMORY_CACHING="1")
