"""Random use of the allocator by several threads on several streams, beside simple models of what must hold."""
import itertools
import random
import threading
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from native import build
from threads import in_threads

import mindtorch as torch
from mindtorch import npu

THREADS, OPERATIONS = 4, 100_000


@pytest.fixture(autouse=True)
def _clean_cache():
    npu.synchronize()
    npu.empty_cache()


def figures():
    """The counters that a random run changes, without peaks."""
    return {key: value for key, value in npu.memory_stats().items()
            if key.split(".")[0] in ("allocation", "allocated_bytes", "active", "active_bytes", "requested_bytes")
            and not key.endswith("peak")}


def check_segments():
    """Blocks cover their segments, free neighbours are merged, and the figures are the sums."""
    segments = npu.memory_snapshot()
    for segment in segments:
        at = segment["address"]
        for block, following in zip(segment["blocks"], [*segment["blocks"][1:], None], strict=True):
            assert block["address"] == at
            at += block["size"]
            assert following is None or (block["state"], following["state"]) != ("inactive", "inactive")
        assert at == segment["address"] + segment["total_size"]
    stats = npu.memory_stats()
    for key, field in (("reserved_bytes", "total_size"), ("allocated_bytes", "allocated_size"),
                       ("active_bytes", "active_size"), ("requested_bytes", "requested_size")):
        assert stats[f"{key}.all.current"] == sum(segment[field] for segment in segments), key
    free = [b["size"] for s in segments if len(s["blocks"]) > 1 for b in s["blocks"] if b["state"] == "inactive"]
    assert stats["inactive_split.all.current"] == len(free)
    assert stats["inactive_split_bytes.all.current"] == sum(free)


class Recycled:
    """Memory that was freed while another stream used it: nobody may get it before that stream's event."""

    def __init__(self):
        self.lock, self.freed = threading.Lock(), []

    def free(self, tensor, stream):
        tensor.record_stream(stream)
        with self.lock:
            self.freed.append((tensor.data_ptr(), tensor.data_ptr() + tensor.numel(), stream.record_event()))

    def check(self, tensor):
        start, end = tensor.data_ptr(), tensor.data_ptr() + tensor.numel()
        with self.lock:
            touched = [entry for entry in self.freed if entry[0] < end and start < entry[1]]
            assert all(event.query() for _, _, event in touched), "handed to another before its event"
            self.freed = [entry for entry in self.freed if entry not in touched][-500:]


def test_tensors_of_four_threads_on_four_streams():
    streams, recycled = [npu.Stream() for _ in range(4)], Recycled()
    held = [[] for _ in range(THREADS)]

    def work(number):
        choose, tensors = random.Random(number), held[number]
        for step in range(OPERATIONS // THREADS // 10):
            with npu.stream(streams[choose.randrange(4)]):
                for _ in range(10):
                    if tensors and choose.random() < 0.5:
                        tensor, owner = tensors.pop(choose.randrange(len(tensors)))
                        user = choose.choice(streams)
                        if choose.random() < 0.1 and user != owner:
                            recycled.free(tensor, user)
                        del tensor
                    else:
                        nbytes = choose.choice((1, 700, 5000, 90_000))
                        tensor = torch.empty(nbytes, dtype=torch.uint8, device="npu")
                        recycled.check(tensor)
                        if choose.random() < 0.05:
                            tensor.fill_(1)
                        tensors.append((tensor, npu.current_stream()))
            if step % 500 == 0:
                npu.empty_cache()

    in_threads(work, THREADS)
    live = sorted((t.data_ptr(), t.data_ptr() + t.numel()) for tensors in held for t, _ in tensors)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(live))
    npu.synchronize()
    torch.empty(1, device="npu")            # what waited for events comes back with the next request
    check_segments()
    used = {block["address"] for s in npu.memory_snapshot() for block in s["blocks"] if block["state"] != "inactive"}
    assert used == {tensor.data_ptr() for tensors in held for tensor, _ in tensors}
    for tensors in held:
        tensors.clear()
    npu.empty_cache()
    assert npu.memory_reserved() == 0


@pytest.fixture(scope="module")
def stress(tmp_path_factory):
    """allocator_stress.pyx as a module."""
    name = "allocator_stress"
    library = build({name: Path(__file__).parent / f"{name}.pyx"}, tmp_path_factory.mktemp("stress"))[name]
    spec = spec_from_file_location(name, library)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_blocks_of_four_threads_without_the_gil(stress):
    streams = [npu.Stream() for _ in range(4)]
    before, counts = figures(), []
    in_threads(lambda number: counts.append(stress.hammer(streams, 77 + number, OPERATIONS // THREADS)), THREADS)
    check_segments()
    changes = {key: value - before[key] for key, value in figures().items()}
    taken, nbytes = map(sum, zip(*counts, strict=True))
    assert changes["allocation.all.allocated"] == changes["allocation.all.freed"] == taken
    assert changes["active.all.allocated"] == changes["active.all.freed"] == taken
    assert changes["allocated_bytes.all.allocated"] == changes["allocated_bytes.all.freed"] == nbytes
    assert changes["active_bytes.small_pool.allocated"] == nbytes
    assert all(change == 0 for key, change in changes.items() if key.endswith("current"))
