"""`python -m bench.loading [rounds]`: what a batch from a worker process of DataLoader costs, beside torch's.

The data set is one tensor, so fetching is stacking rows. The best pass of each library is taken.
"""
# ruff: noqa: E402 - BLAS libraries look at the number of threads when they are loaded, so it is set before that
import os
import sys

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import time
import warnings
from importlib import import_module
from importlib.util import find_spec

ROWS = 16                                                           # a batch
SIZES = {"4 KB": 64, "256 KB": 1 << 12, "16 MB": 1 << 18}           # of a batch -> numbers in a row
BATCHES = {"4 KB": 300, "256 KB": 150, "16 MB": 25}
ROUNDS = 4


def seconds_of_batch(library, size):
    data = import_module(f"{library}.utils.data")
    rows = import_module(library).zeros(ROWS, SIZES[size])
    sampler = [index % ROWS for index in range(ROWS * (BATCHES[size] + 1))]
    loader = iter(data.DataLoader(data.TensorDataset(rows), ROWS, sampler=sampler, num_workers=1))
    next(loader)                                                    # not counted: the worker starts
    start = time.perf_counter()
    for _ in loader:
        pass
    return (time.perf_counter() - start) / BATCHES[size]


def main(rounds=ROUNDS):
    libraries = ["mindtorch", *(["torch"] if find_spec("torch") else [])]
    if "torch" in libraries:
        import_module("torch").set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
    print(f"\na batch of {ROWS} samples from one worker")
    for size in SIZES:
        best = {library: min(seconds_of_batch(library, size) for _ in range(rounds)) for library in libraries}
        ratio = f"{best['mindtorch'] / best['torch']:8.2f} x torch" if "torch" in best else ""
        print(f"{size:8}" + "".join(f"{library:>12}{1e3 * best[library]:8.2f} ms" for library in libraries) + ratio)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
