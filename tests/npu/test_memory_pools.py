"""Private pools, memory by address, memory from other sources."""
import shutil
import subprocess
import threading

import pytest
from process import run

import mindtorch as torch
from mindtorch import npu

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _clean_cache():
    npu.synchronize()
    npu.empty_cache()


def take(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device="npu")


def pool_ids():
    return [segment["segment_pool_id"] for segment in npu.memory_snapshot()]


def test_memory_of_a_pool():
    pool = npu.MemPool()
    assert pool.id[0] == 0
    assert pool.use_count() == 1
    with npu.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = take(1000)
    outside = take(1000)
    assert pool.use_count() == 1
    assert sorted(pool_ids()) == [(0, 0), pool.id]
    assert [segment["segment_pool_id"] for segment in pool.snapshot()] == [pool.id]
    assert pool.snapshot() == npu.memory_snapshot(pool.id)
    address = inside.data_ptr()
    del inside
    npu.empty_cache()
    assert pool.id in pool_ids()                      # the pool still holds its memory
    with npu.use_mem_pool(pool):
        assert take(1000).data_ptr() == address
    number = pool.id
    del pool
    assert number not in pool_ids()
    assert outside is not None


def test_a_block_may_outlive_its_pool():
    pool = npu.MemPool()
    with npu.use_mem_pool(pool):
        block = take(1000).fill_(3)
    number = pool.id
    del pool
    assert pool_ids() == [number]
    assert int(block.sum()) == 3000
    del block
    npu.synchronize()
    npu.empty_cache()
    assert npu.memory_reserved() == 0


def test_only_the_calling_thread_uses_the_pool():
    pool, other = npu.MemPool(), []
    with npu.use_mem_pool(pool):
        thread = threading.Thread(target=lambda: other.append(take(1000)))
        thread.start()
        thread.join()
        assert pool_ids() == [(0, 0)]
        other.append(take(1000))
    assert sorted(pool_ids()) == [(0, 0), pool.id]


def test_pools_nest_but_not_in_themselves():
    outer, inner = npu.MemPool(), npu.MemPool()
    with npu.use_mem_pool(outer):
        with npu.use_mem_pool(inner):
            kept = [take(100)]
        kept.append(take(100))
        with pytest.raises(RuntimeError, match=r"allocated to pool \(0, \d+\) already"), npu.use_mem_pool(outer):
            pass
        kept.append(take(100))
    assert sorted(pool_ids()) == [outer.id, inner.id]
    assert outer.use_count() == inner.use_count() == 1


def test_blocks_of_a_pool_that_does_not_split():
    pool = npu.MemPool(no_split=True)
    with npu.use_mem_pool(pool):
        first, second = take(1000), take(1000)
    assert [len(segment["blocks"]) for segment in pool.snapshot()] == [1, 1]
    assert first is not second


def test_a_pool_that_lends_before_memory_runs_out():
    run("""
import mindtorch as torch
take = lambda mib: torch.empty(mib << 20, dtype=torch.uint8, device="npu")
pools = torch.npu.MemPool(use_on_oom=True), torch.npu.MemPool()
for pool in pools:
    with torch.npu.use_mem_pool(pool):
        lent = take(200)
    del lent
kept = take(100)
assert take(190).fill_(1).sum().item() == 190 << 20   # there is no other room
try:
    kept2 = take(190), take(190)
except torch.OutOfMemoryError:
    pass
else:
    raise AssertionError
""", MINDTORCH_SIM_MEMORY="512MiB")


def test_memory_by_address():
    before = npu.memory_allocated()
    address = npu.caching_allocator_alloc(1000)
    assert npu.memory_allocated() == before + 1536
    stream = npu.Stream()
    other = npu.caching_allocator_alloc(1000, 0, stream)
    again = npu.caching_allocator_alloc(1000, "npu:0", stream.npu_stream)
    assert len({address, other, again}) == 3
    for pointer in (address, other, again):
        npu.caching_allocator_delete(pointer)
    assert npu.memory_allocated() == before
    assert npu.caching_allocator_alloc(0) == 0
    with pytest.raises(RuntimeError, match="invalid device pointer: 0x"):
        npu.caching_allocator_delete(address)
    with pytest.raises(TypeError, match=r"must be `torch.npu.Stream` or `int`"):
        npu.caching_allocator_alloc(1000, stream="x")
    with pytest.raises(ValueError, match="is no stream of npu:0"):
        npu.caching_allocator_alloc(1000, stream=12345)
    with pytest.raises((OverflowError, ValueError)):
        npu.caching_allocator_alloc(-1)
    assert npu.memory_allocated() == before


SOURCE = r"""
#include <stddef.h>
#include <stdio.h>
int aclrtMalloc(void **, size_t, int);
int aclrtFree(void *);
static long taken;
void *my_alloc(size_t size, int device, void *stream) {
  void *pointer = NULL;
  if (size > (1u << 30) || aclrtMalloc(&pointer, size, 0) != 0) return NULL;
  (void)device; (void)stream;
  taken += (long)size;
  return pointer;
}
void my_free(void *pointer, size_t size, int device, void *stream) {
  (void)device; (void)stream;
  taken -= (long)size;
  aclrtFree(pointer);
}
long my_taken(void) { return taken; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A shared library with an allocator of its own."""
    folder = tmp_path_factory.mktemp("pluggable")
    (folder / "source.c").write_text(SOURCE, encoding="utf-8")
    lib64 = f"{npu.toolkit().root}/lib64"
    subprocess.run([shutil.which("cc"), "-shared", "-fPIC", folder / "source.c", "-o", folder / "libmine.so",
                    f"-L{lib64}", f"-Wl,-rpath,{lib64}", "-lascendcl"], check=True)
    return str(folder / "libmine.so")


def test_memory_from_a_library_of_one_s_own(library):
    run(f"""
import ctypes
import mindtorch as torch
mine = torch.npu.NPUPluggableAllocator({library!r}, "my_alloc", "my_free")
taken = ctypes.CDLL({library!r}).my_taken
assert torch.npu.get_allocator_backend() == "native"
torch.npu.change_current_allocator(mine)
assert torch.npu.get_allocator_backend() == "pluggable"
tensor = torch.ones(1000, device="npu")
assert taken() >= 4000 and tensor.sum().item() == 1000
del tensor
torch.npu.synchronize()
torch.npu.empty_cache()
assert taken() == 0
try:
    torch.empty(1 << 32, device="npu")
except torch.OutOfMemoryError:
    pass
else:
    raise AssertionError
try:
    torch.npu.change_current_allocator(mine)
except RuntimeError as error:
    assert "Can't swap an already initialized allocator" in str(error)
else:
    raise AssertionError
""")


def test_a_pool_of_a_library_of_one_s_own(library):
    import ctypes
    pool = npu.MemPool(npu.NPUPluggableAllocator(library, "my_alloc", "my_free").allocator())
    taken = ctypes.CDLL(library).my_taken
    with npu.use_mem_pool(pool):
        block = torch.ones(1000, device="npu")
    assert taken() == 2 * MIB
    assert block.sum().item() == 1000
    del block
    npu.synchronize()
    del pool
    assert taken() == 0
