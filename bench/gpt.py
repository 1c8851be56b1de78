"""`python -m bench.gpt [rounds]`: a training step of examples/train_gpt.py beside torch's on the CPU, one thread each.

The GPT has 4 layers of width 128 and learns from 16 pieces of 128 characters. Steps of all libraries alternate in one
process, from the same source, and the best time of each is taken.
"""
# ruff: noqa: E402 - BLAS libraries look at the number of threads when they are loaded, so it is set before that
import os
import sys

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parent.parent / "examples"
ROUNDS = 8


@cache
def example(name, library="mindtorch"):
    """An example as a module, with the name of this library in place of mindtorch's in its source."""
    path = EXAMPLES / f"{name}.py"
    module = ModuleType(name)
    source = path.read_text(encoding="utf-8").replace("mindtorch", library)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def training(library, device):
    module = example("train_gpt", library)
    if library == "torch":
        module.torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    return module.Training(module.arguments(["--device", device]))


def main(rounds=ROUNDS):
    pairs = [("mindtorch", "cpu"), ("mindtorch", "npu"), *([("torch", "cpu")] if find_spec("torch") else [])]
    trainings = {pair: training(*pair) for pair in pairs}
    times = {pair: [] for pair in pairs}
    for pair in [*pairs, *pairs * rounds]:      # the first step of each is not counted
        start = time.perf_counter()
        trainings[pair].step()                  # ends with loss.item(), which waits for the device
        times[pair].append(time.perf_counter() - start)
    best = {pair: min(times[pair][1:]) for pair in pairs}
    print("\ntraining step of examples/train_gpt.py")
    for (library, device), seconds in best.items():
        ratio = f"{seconds / best['torch', 'cpu']:8.2f} x torch" if ("torch", "cpu") in best else ""
        print(f"{library:10} {device:4}{1e3 * seconds:9.1f} ms{ratio}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
