"""Rung 5: torch on the CPU, where it is installed. Its kernels always run: the smallest tensors keep them short."""
import pytest
import torch

from bench.operators import STATEMENTS
from bench.rungs import measure, python_loop


@pytest.mark.parametrize("op", STATEMENTS)
def bench_torch(benchmark, op):
    torch.set_num_threads(1)
    vector = torch.tensor([1.0, -2.0, 3.0, -4.0])
    run = python_loop(STATEMENTS[op], v=vector, m=vector.reshape(2, 2), empty=torch.empty, like={})
    measure(benchmark, "torch CPU", op, run, lambda: None)
