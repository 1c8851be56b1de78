"""The libraries that the tests of optimizers compare."""
import pytest
import torch

import mindtorch


@pytest.fixture
def both(device):
    """Pairs of (library, device): torch's on the CPU, then mindtorch's."""
    return (torch, "cpu"), (mindtorch, device)
