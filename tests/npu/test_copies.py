"""Copies between host and device: every kind of memory, layout and cast."""
import pytest

import mindtorch as torch
from mindtorch import sim

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128"]
SIZES = [1, 7, 1000, 300_000, 1 << 20]      # both sides of the limit of copies through a pinned buffer


def numbers(count, dtype="float32"):
    return (torch.arange(count) % 100).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_survives_the_round_trip(dtype):
    source = numbers(1000, dtype)
    back = source.to("npu").to("cpu")
    assert back.dtype == source.dtype
    assert back.tolist() == source.tolist()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_host_memory_of_both_kinds(size, pinned, non_blocking):
    source = numbers(size)
    if pinned:
        source = torch.npu.pin_memory(source)
    there = source.to("npu", non_blocking=non_blocking)
    back = torch.empty(size)
    if pinned:
        back = torch.npu.pin_memory(back)
    back.copy_(there, non_blocking=non_blocking)
    if pinned and non_blocking:
        torch.npu.synchronize()
    assert (back.numpy() == source.numpy()).all()


def test_a_pageable_source_may_change_after_a_non_blocking_copy():
    source = torch.zeros(1000)
    there = source.to("npu", non_blocking=True)
    source.fill_(7)
    assert there.to("cpu").numpy().max() == 0


def test_pinned_memory_is_not_reused_while_a_copy_reads_it():
    matrix = torch.ones((700, 700), device="npu")
    busy = matrix @ matrix @ matrix @ matrix       # the copy below waits behind it
    source = torch.npu.pin_memory(torch.full((1000,), 3.0))
    there = torch.empty(1000, device="npu")
    there.copy_(source, non_blocking=True)
    del source
    other = torch.npu.pin_memory(torch.full((1000,), 5.0))
    assert there.to("cpu").numpy().min() == 3.0
    assert (other.numpy() == 5.0).all()
    assert busy is not None


LAYOUTS = {
    "transposed": lambda t: t.t(),
    "strided": lambda t: t[::2, 1::3],
    "offset": lambda t: t[3:, 4:],
    "expanded": lambda t: t[:1].expand(12, 15),
    "0-d": lambda t: t[2, 3],
    "empty": lambda t: t[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_views_in_both_directions(layout, dtype):
    view = LAYOUTS[layout]
    source = numbers(180).reshape(12, 15)
    expected = view(source).to(getattr(torch, dtype)).tolist()
    assert view(source).to("npu", getattr(torch, dtype)).tolist() == expected
    assert view(source.to("npu")).to("cpu", getattr(torch, dtype)).tolist() == expected
    assert view(source.to("npu")).to(getattr(torch, dtype)).contiguous().tolist() == expected


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "expanded"])
@pytest.mark.parametrize("source_device", ["cpu", "npu"])
@pytest.mark.parametrize("target_device", ["cpu", "npu"])
def test_copy_into_views(layout, source_device, target_device):
    expected = torch.zeros(180).reshape(12, 15)
    target = torch.zeros((12, 15), device=target_device)
    source = LAYOUTS[layout](numbers(180).reshape(12, 15))
    LAYOUTS[layout](expected).copy_(source)
    LAYOUTS[layout](target).copy_(source.to(source_device, torch.int32))
    assert target.tolist() == expected.tolist()


@pytest.mark.parametrize("target_device", ["cpu", "npu"])
def test_copy_broadcasts(target_device):
    target = torch.zeros((3, 4), device=target_device)
    target.copy_(torch.tensor([1, 2, 3, 4], device="npu"))
    assert target.tolist() == [[1, 2, 3, 4]] * 3
    target.copy_(torch.tensor(9.0))
    assert target.tolist() == [[9] * 4] * 3


def test_casts_run_on_the_device():
    source = torch.ones(64, device="npu")
    with sim.counting() as calls:
        source.to("cpu", torch.float16)
    assert calls["aclnnInplaceCopy"] == 1
    with sim.counting() as calls:
        torch.ones(64, dtype=torch.int32).to("npu", torch.float32)
    assert calls["aclnnInplaceCopy"] + calls["aclnnCast"] <= 1


def test_more_than_eight_dimensions():
    source = numbers(512).reshape(*[2] * 9)
    there = source.to("npu")
    assert there.clone().to("cpu").tolist() == source.tolist()
    assert (there + there).tolist() == (source * 2).tolist()
    with pytest.raises(RuntimeError, match="at most 8 dimensions"):
        there.sum(0)


def test_pinned_memory_is_cached_and_given_back():
    pinned = torch.npu.pin_memory(torch.zeros(100))
    address = pinned.data_ptr()
    assert torch.npu.is_pinned(pinned)
    assert not torch.npu.is_pinned(pinned.clone())
    assert torch.npu.pin_memory(pinned) is pinned
    del pinned
    again = torch.npu.pin_memory(torch.zeros(100))
    assert again.data_ptr() == address
    del again
    torch.npu.host_empty_cache()
    assert "host_memory" not in sim.live_objects()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.npu.pin_memory(torch.zeros(3, device="npu"))


def test_a_small_upload_does_not_wait_for_the_device():
    with sim.counting() as calls:
        torch.zeros(10).to("npu")
    assert calls["aclrtSynchronizeStream"] == 0


def test_what_is_put_in_order_on_the_host_has_arrived():
    """A copy to the host that need not be waited for, and another order of elements there."""
    matrix = torch.full((700, 700), 1 / 700, device="npu")
    for _ in range(8):
        matrix = matrix @ matrix
    images = (matrix * 700)[:16, :16].reshape(1, 4, 8, 8)
    copied = images.to("cpu", non_blocking=True, memory_format=torch.channels_last)
    torch.npu.synchronize()
    assert copied.is_contiguous(memory_format=torch.channels_last)
    assert abs(copied.numpy() - 1).max() < 1e-4
