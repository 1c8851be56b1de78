"""The statements of bench/operators.py with torch_npu, started by bench/report.py in the environment that has it."""
import statistics
import time

import torch
import torch_npu  # noqa: F401 - it adds the device npu to torch

from bench import client
from bench.operators import STATEMENTS
from bench.rungs import COUNT, ROUNDS, python_loop

WARMUP_ROUNDS = 3


def nanoseconds(run):
    """The median of an op's times, measured as bench.rungs.measure does."""
    times = []
    for _ in range(WARMUP_ROUNDS + ROUNDS):
        torch.npu.synchronize()
        start = time.perf_counter_ns()
        run(COUNT)
        torch.npu.synchronize()
        times.append((time.perf_counter_ns() - start) / COUNT)
    return statistics.median(times[WARMUP_ROUNDS:])


def main():
    vector = torch.tensor([1.0, -2.0, 3.0, -4.0]).npu()
    names = {"v": vector, "m": vector.reshape(2, 2), "empty": torch.empty, "like": {"device": "npu"}}
    client.say({op: nanoseconds(python_loop(statement, **names)) for op, statement in STATEMENTS.items()})


if __name__ == "__main__":
    main()
