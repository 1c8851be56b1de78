"""Rung 2: the design that mindtorch replaces, one ctypes call per ABI function."""
import pytest

from bench.ctypes_design import Memory, Ops, Tensor, Toolkit
from bench.rungs import measure, python_loop


@pytest.fixture(scope="module")
def ops(npu):
    memory = Memory(Toolkit(npu.root))
    yield Ops(memory.toolkit, memory, npu.stream)
    npu.synchronize()
    memory.close()


@pytest.mark.parametrize(("op", "statement"), [("a + b", "ops.add(v, v)"), ("a.relu()", "ops.relu(v)"),
                                               ("a @ b", "ops.mm(m, m)"), ("a.sum()", "ops.sum(v)")])
def bench_ctypes(benchmark, npu, ops, op, statement):
    run = python_loop(statement, ops=ops, v=Tensor(ops.memory, (4,)), m=Tensor(ops.memory, (2, 2)))
    measure(benchmark, "ctypes", op, run, npu.synchronize)
