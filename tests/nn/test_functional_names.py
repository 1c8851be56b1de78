"""The in-place names of activations, power-average pooling and random choices, beside torch 2.13."""
import pytest
import torch
from test_functional_networks import agree, numbers, tensors

import mindtorch


@pytest.mark.parametrize("call", [
    lambda f, x: f.lp_pool1d(x.reshape(4, 3, 10), 2, 3),
    lambda f, x: f.lp_pool1d(x.reshape(4, 3, 10).abs(), 3, 4, 2, True),
    lambda f, x: f.lp_pool2d(x.reshape(2, 2, 5, 6), 2, (2, 3)), lambda f, x: f.lp_pool2d(x.reshape(2, 2, 5, 6), 1, 2),
    lambda f, x: f.lp_pool3d(x.reshape(1, 2, 3, 4, 5), 2, 2, stride=1),
])
def test_lp_pool(call, device):
    agree(lambda lib, functional, x: call(functional, x), [numbers(120)], device)


@pytest.mark.parametrize("name", ["elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_", "celu_", "rrelu_",
                                  "threshold_"])
def test_in_place(name, device):
    rest = (0.5, 2.0) if name == "threshold_" else ()

    def call(lib, functional, x):
        x = x * 1
        assert getattr(functional, name)(x, *rest) is x
        y = x * 1
        assert getattr(functional, name[:-1])(y, *rest, inplace=True) is y
        return x, y
    agree(call, [numbers(4, 5)], device)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard, device):
    torch.manual_seed(3)
    mindtorch.manual_seed(3)
    found = []
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        (logits,) = tensors(lib, [numbers(6, 5)], where)
        choice = lib.nn.functional.gumbel_softmax(logits, 0.7, hard)
        (choice * lib.arange(5, device=where)).sum().backward()
        assert choice.shape == (6, 5)
        assert choice.sum(1).tolist() == pytest.approx([1.0] * 6, abs=1e-5)
        if hard:
            assert sorted({round(x, 5) for x in choice.flatten().tolist()}) == [0.0, 1.0]
        found.append(choice.flatten().tolist() + logits.grad.flatten().tolist())
    if device == "cpu":                 # the numbers of torch for a seed
        assert found[1] == pytest.approx(found[0], abs=1e-5)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_pad_refuses_as_torch(mode, device):
    for dims, pad in ((6, (1, 1)), (1, (1, 1)), (4, (1, 1)), (5, (1, 1, 1, 1)), (4, (1,) * 8)):
        said = []
        for lib, where in ((torch, "cpu"), (mindtorch, device)):
            with pytest.raises(NotImplementedError) as caught:
                lib.nn.functional.pad(lib.zeros([3] * dims, device=where), pad, mode=mode)
            said.append(str(caught.value))
        assert said[0] == said[1]
