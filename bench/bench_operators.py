"""Rung 4: what a user writes."""
import pytest

from bench.operators import STATEMENTS
from bench.rungs import measure, python_loop


@pytest.mark.parametrize("op", STATEMENTS)
def bench_operators(benchmark, npu, op):
    run = python_loop(STATEMENTS[op], v=npu.vector, m=npu.matrix, empty=npu.torch.empty, like={"device": "npu"})
    measure(benchmark, "mindtorch", op, run, npu.synchronize)
