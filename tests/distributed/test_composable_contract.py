"""What functions that change modules in place promise: beside torch."""
import importlib

import pytest


@pytest.fixture(params=["mindtorch", "torch"])
def torch(request):
    return importlib.import_module(request.param)


def test_a_contract(torch):
    module = importlib.import_module(f"{torch.__name__}.distributed._composable.contract")

    class State:
        count = 0

    @module.contract(State)
    def marked(given, by=1):
        for each in [given] if isinstance(given, torch.nn.Module) else given:
            marked.state(each).count += by
        return given

    @module.contract()
    def wrapping(given):
        return torch.nn.Sequential(given)

    layers = [torch.nn.Linear(2, 2) for _ in range(4)]
    assert marked(layers[0], by=3) is layers[0]
    marked([layers[1], layers[2]])
    assert [marked.state(layer).count for layer in layers[:3]] == [3, 2, 2]
    assert marked.state(layers[1]) is marked.state(layers[2])
    assert list(module._get_registry(layers[0])) == ["marked"]
    assert module._get_registry(layers[3]) is None
    with pytest.raises(AssertionError, match=r"once\. marked has already been applied to the following module"):
        marked([layers[3], layers[1]])
    with pytest.raises(RuntimeError, match="Checking parameters: Composable distributed API implementations cannot"):
        wrapping(torch.nn.Linear(2, 2))
    assert list(layers[0].state_dict()) == ["weight", "bias"]
