"""Rung 1: the CANN calls alone, from a C loop."""
import ctypes

import pytest

from bench.rungs import Buffers, build_floor, measure


@pytest.fixture(scope="module")
def floor(npu):
    library = build_floor(npu.root)
    npu.buffers = [npu.torch.ones(4, device="npu") for _ in range(3)]
    npu.workspace = npu.torch.empty(1 << 16, dtype=npu.torch.uint8, device="npu")
    arguments = Buffers(*(b.data_ptr() for b in npu.buffers), npu.workspace.data_ptr(), npu.workspace.numel(),
                        npu.stream)

    def function(name):
        call = getattr(library, name)
        call.argtypes = [ctypes.POINTER(Buffers), ctypes.c_long]

        def run(count):
            status = call(ctypes.byref(arguments), count)
            assert status == 0, f"{name}: {status}"
        return run
    return function


@pytest.mark.parametrize(("op", "name"), [("a + b", "floorAdd"), ("a.relu()", "floorRelu"), ("a @ b", "floorMm"),
                                          ("a.sum()", "floorSum")])
def bench_floor(benchmark, npu, floor, op, name):
    measure(benchmark, "C floor", op, floor(name), npu.synchronize)
