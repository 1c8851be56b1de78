"""The device and the operands of the rungs. Every rung works on four float32 values."""
import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.rungs import seconds_per_operator

collect_ignore = [] if importlib.util.find_spec("torch") else ["bench_torch.py"]


def pytest_addoption(parser):
    parser.addoption("--kernels", choices=("null", "real"), default="null",
                     help="null: the host's cost alone; real: kernels run on the device's own thread")


def pytest_configure(config):
    os.environ.pop("MINDTORCH_SIM_KERNELS", None)
    if config.getoption("--kernels") == "null":
        os.environ["MINDTORCH_SIM_KERNELS"] = "null"


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.benchmark(timer=seconds_per_operator))


def pytest_benchmark_update_json(config, output_json):
    output_json["kernels"] = config.getoption("--kernels")


@pytest.fixture(scope="session")
def npu():
    """mindtorch with the device started, operands on it, and what the lower rungs need to reach the same device."""
    import mindtorch as torch
    vector = torch.tensor([1.0, -2.0, 3.0, -4.0], device="npu")
    matrix = vector.reshape(2, 2)
    torch.npu.synchronize()
    return SimpleNamespace(torch=torch, vector=vector, matrix=matrix, synchronize=torch.npu.synchronize,
                           stream=torch.npu.current_stream().npu_stream, root=Path(torch.npu.toolkit().root))
