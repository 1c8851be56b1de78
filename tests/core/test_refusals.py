"""Names that are there, and refuse when they are called: functions of the torch namespace and methods of Tensor."""
import pytest
import torch

import mindtorch
from mindtorch import _refusals


@pytest.mark.parametrize("name", sorted(_refusals.FUNCTIONS))
def test_functions(name):
    assert hasattr(torch, name)
    with pytest.raises(NotImplementedError, match=rf"^torch\.{name}: .*\.$"):
        getattr(mindtorch, name)(mindtorch.ones(1))


@pytest.mark.parametrize("name", sorted(_refusals.METHODS))
def test_methods(name):
    assert hasattr(torch.Tensor, name)
    with pytest.raises(NotImplementedError, match=rf"^Tensor\.{name}: .*\.$"):
        getattr(mindtorch.ones(1), name)()


def test_a_name_that_is_nowhere():
    with pytest.raises(AttributeError, match="has no attribute 'sparse_tensor'"):
        _ = mindtorch.sparse_tensor
