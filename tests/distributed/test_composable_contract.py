"""What functions that change modules in place promise: beside torch."""
import copy
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


def test_a_module_computes_its_activations_again(torch):
    checkpoint = importlib.import_module(f"{torch.__name__}.distributed._composable").checkpoint
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(3, 2)))
    x = torch.ones(1, 2, requires_grad=True)
    layers(x).sum().backward()
    expected, x.grad = [each.grad.tolist() for each in [x, *layers.parameters()]], None
    layers.zero_grad()
    checkpoint(layers[1], preserve_rng_state=False)
    for each in (layers, copy.deepcopy(layers)):
        calls, own = [], x.detach().clone().requires_grad_()
        each[1][0].register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        each(own).sum().backward()
        assert len(calls) == 2
        assert [value.grad.tolist() for value in [own, *each.parameters()]] == expected
    assert list(layers.state_dict()) == ["0.weight", "0.bias", "1.1.weight", "1.1.bias"]
    with pytest.raises(NotImplementedError, match="use_reentrant=True is not supported in composable checkpoint"):
        checkpoint(torch.nn.Linear(1, 1), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.nn.Linear(1, 1), foo="bar")
