"""Rung 3: our own launch from a Cython loop, into outputs that exist already."""
import pytest

from bench.rungs import build_loop, measure


@pytest.fixture(scope="module")
def loop():
    return build_loop("launch_loop")


@pytest.mark.parametrize(("op", "name", "operands", "shape"), [
    ("a + b", "add", ("vector", "vector"), (4,)),
    ("a.relu()", "relu", ("vector",), (4,)),
    ("a @ b", "mm", ("matrix", "matrix"), (2, 2)),
    ("a.sum()", "sum", ("vector",), ()),
])
def bench_launch(benchmark, npu, loop, op, name, operands, shape):
    out = npu.torch.empty(shape, device="npu")
    arguments = [getattr(npu, operand) for operand in operands]
    call = getattr(loop, name)
    measure(benchmark, "Cython launch", op, lambda count: call(*arguments, out, count), npu.synchronize)
