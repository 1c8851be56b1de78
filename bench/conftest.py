"""The device and the operands of the rungs. Every rung works on four float32 values."""
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

collect_ignore = [] if importlib.util.find_spec("torch") else ["bench_torch.py"]


@pytest.fixture(scope="session")
def npu():
    """mindtorch with the device started, operands on it, and what the lower rungs need to reach the same device."""
    import mindtorch as torch
    vector = torch.tensor([1.0, -2.0, 3.0, -4.0], device="npu")
    matrix = vector.reshape(2, 2)
    torch.npu.synchronize()
    return SimpleNamespace(torch=torch, vector=vector, matrix=matrix, synchronize=torch.npu.synchronize,
                           stream=torch.npu.current_stream().npu_stream, root=Path(torch.npu.toolkit().root))
