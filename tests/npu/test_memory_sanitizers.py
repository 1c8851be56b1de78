"""The allocator under the address and the thread sanitizer: its modules built with them, used by four threads.

The interpreter is not instrumented: what is checked is what happens in these modules.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from native import ROOT, build

MODULES = ("segments", "allocator")
OPTIONS = {"address": ("libasan.so", {"ASAN_OPTIONS": "detect_leaks=0"}),
           "thread": ("libtsan.so", {"TSAN_OPTIONS": "halt_on_error=1"})}
CODE = """
import threading
import mindtorch as torch
from mindtorch._npu import segments
import allocator_stress
assert segments.__file__.startswith({folder!r}), segments.__file__
streams = [torch.npu.Stream() for _ in range(4)]
done = []
threads = [threading.Thread(target=lambda n=n: done.append(allocator_stress.hammer(streams, 77 + n, 25_000)))
           for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(done) == 4
stats = torch.npu.memory_stats()
assert stats["allocation.all.allocated"] == stats["allocation.all.freed"] == sum(taken for taken, _ in done)
# What goes by the slow paths: history, other streams, expandable segments, private pools.
torch.npu.memory._record_memory_history()
torch.npu.memory._set_allocator_settings("expandable_segments:True")
pool = torch.npu.MemPool()
for step in range(200):
    with torch.npu.stream(streams[step % 4]):
        tensor = torch.empty(1000 * step, device="npu")
        tensor.record_stream(streams[(step + 1) % 4])
        del tensor
        with torch.npu.use_mem_pool(pool):
            kept = torch.zeros(100 * step, device="npu")
torch.npu.memory._snapshot()
del kept, pool
torch.npu.synchronize()
torch.npu.empty_cache()
assert torch.npu.memory_reserved() == 0, torch.npu.memory_snapshot()
print("right")
"""


def instrumented_package(folder, flags):
    """A copy of mindtorch, of links, but for the allocator's modules."""
    package, name = folder / "mindtorch" / "_npu", "mindtorch._npu.{}"
    for part in sorted((ROOT / "mindtorch").iterdir()):
        if part.name != "_npu":
            (folder / "mindtorch").mkdir(exist_ok=True)
            (folder / "mindtorch" / part.name).symlink_to(part)
    package.mkdir()
    built = {module: library for library in (ROOT / "mindtorch" / "_npu").glob("*.so")
             if (module := library.name.split(".")[0]) in MODULES}
    for part in (ROOT / "mindtorch" / "_npu").iterdir():
        if part not in built.values():
            (package / part.name).symlink_to(part)
    sources = {name.format(module): ROOT / "mindtorch" / "_npu" / f"{module}.pyx" for module in MODULES}
    sources["allocator_stress"] = Path(__file__).parent / "allocator_stress.pyx"
    for module, library in build(sources, folder / "built", flags).items():
        shutil.copy(library, folder if module == "allocator_stress" else package)


@pytest.mark.sanitizers
@pytest.mark.parametrize("sanitizer", list(OPTIONS))
def test_allocator(sanitizer, tmp_path):
    library, options = OPTIONS[sanitizer]
    instrumented_package(tmp_path, ["-O1", f"-fsanitize={sanitizer}"])
    preload = subprocess.run(["cc", f"-print-file-name={library}"], capture_output=True, text=True,
                             check=True).stdout.strip()
    environment = dict(os.environ, LD_PRELOAD=preload, PYTHONPATH=str(tmp_path), MINDTORCH_NPU="sim",
                       MINDTORCH_SIM_MEMORY="1GiB", OPENBLAS_NUM_THREADS="1", **options)
    done = subprocess.run([sys.executable, "-c", CODE.format(folder=str(tmp_path))], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout == "right\n"
    assert "ERROR: AddressSanitizer" not in done.stderr
    assert "WARNING: ThreadSanitizer" not in done.stderr
