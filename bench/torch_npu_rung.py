"""The statements of bench/operators.py with torch_npu: runs each that bench/bench_torch_npu.py asks for COUNT times."""
import sys

import torch
import torch_npu  # noqa: F401 - it adds the device npu to torch

from bench import client
from bench.operators import STATEMENTS
from bench.rungs import COUNT, python_loop


def main():
    vector = torch.tensor([1.0, -2.0, 3.0, -4.0]).npu()
    names = {"v": vector, "m": vector.reshape(2, 2), "empty": torch.empty, "like": {"device": "npu"}}
    runs = {op: python_loop(statement, **names) for op, statement in STATEMENTS.items()}
    for line in sys.stdin:
        runs[line.rstrip("\n")](COUNT)
        torch.npu.synchronize()
        client.say(None)


if __name__ == "__main__":
    main()
