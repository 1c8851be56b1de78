"""`python -m bench.report`: runs every rung with null kernels and with real ones, and prints them side by side.

Figures are medians in nanoseconds per op, of one run on this machine; the ratios are what may be compared elsewhere.
"""
import json
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from bench import client
from bench.operators import STATEMENTS

ROOT = Path(__file__).parent.parent
RUNGS = ("C floor", "Cython launch", "mindtorch", "ctypes", "torch CPU", "torch_npu")
RATIOS = (("mindtorch", "C floor"), ("mindtorch", "torch CPU"), ("mindtorch", "torch_npu"), ("ctypes", "mindtorch"))
KERNELS = {"null": "kernels left out: host cost alone", "real": "kernels run on the device's own thread"}
IMPORT_ROUNDS = 9
TIMED_IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def run_rungs(kernels):
    """{(rung, op): nanoseconds} of one process that runs all rungs."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        subprocess.run([sys.executable, "-m", "pytest", "bench", "-q", f"--kernels={kernels}", "--benchmark-quiet",
                        f"--benchmark-json={result}"], check=True, cwd=ROOT)
        return times(json.loads(result.read_text(encoding="utf-8")))


def times(saved, statistic="median"):
    """{(rung, op): nanoseconds} of what pytest-benchmark has saved, by a statistic of the rounds, such as "min"."""
    return {(b["extra_info"]["rung"], b["extra_info"]["op"]): 1e9 * b["stats"][statistic] for b in saved["benchmarks"]}


def toolkit():
    """One line on the toolkit that the rungs run on."""
    code = "import mindtorch as t; t.npu.init(); print(t.npu.get_device_name(), t.npu.toolkit(), sep=', ')"
    return subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True).stdout


def import_seconds(module):
    times = [float(subprocess.run([sys.executable, "-c", TIMED_IMPORT.format(module)], check=True, cwd=ROOT,
                                  capture_output=True, text=True).stdout) for _ in range(IMPORT_ROUNDS)]
    return statistics.median(times)


def print_table(medians):
    heads = [*RUNGS, *(f"{a} / {b}" for a, b in RATIOS)]
    print(f"{'op':16}" + "".join(f"{head:>{len(head) + 3}}" for head in heads))
    for op in STATEMENTS:
        cells = [f"{medians[rung, op]:.0f} ns" if (rung, op) in medians else "-" for rung in RUNGS]
        for a, b in RATIOS:
            both = (a, op) in medians and (b, op) in medians
            cells.append(f"{medians[a, op] / medians[b, op]:.2f}" if both else "-")
        print(f"{op:16}" + "".join(f"{cell:>{len(head) + 3}}" for head, cell in zip(heads, cells, strict=True)))


def main():
    tables = {kernels: run_rungs(kernels) for kernels in KERNELS}
    print(f"\ntoolkit: {toolkit().strip()}")
    for kernels, meaning in KERNELS.items():
        print(f"\n4-element float32, {kernels} kernels ({meaning}); medians per op")
        print_table(tables[kernels])
    if not client.PYTHON.exists():
        print(client.LEFT_OUT)
    ours = import_seconds("mindtorch")
    line = f"\nimport mindtorch: {1e3 * ours:.0f} ms"
    if find_spec("torch"):
        theirs = import_seconds("torch")
        line += f", import torch: {1e3 * theirs:.0f} ms, ratio {ours / theirs:.2f}"
    print(line)


if __name__ == "__main__":
    main()
