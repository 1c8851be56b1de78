"""torch.jit.trace: a module of the operators that a call ran."""
import copy

import pytest
import torch

import mindtorch


def layers(library, device="cpu"):
    library.manual_seed(0)
    nn = library.nn
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).to(device)


def traced_training(library, device="cpu"):
    module = layers(library, device)
    x = library.arange(15.0, device=device).reshape(5, 3) / 7
    traced = library.jit.trace(module, x, check_trace=False)        # torch's check moves the running mean
    optimizer = library.optim.SGD(traced.parameters(), lr=0.1)
    told = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = traced(x[1:]).square().sum()
        loss.backward()
        optimizer.step()
        told.append(loss.item())
    return told, list(traced.state_dict()), [each.cpu().tolist() for each in module.state_dict().values()]


@pytest.mark.filterwarnings("ignore")                 # torch warns of its tracing
def test_it_trains_as_with_torch(device):
    (mine, names, state), (theirs, expected, other) = traced_training(mindtorch, device), traced_training(torch)
    assert names == expected
    assert mine == pytest.approx(theirs, rel=1e-5)
    for one, two in zip(state, other, strict=True):
        assert torch.allclose(torch.tensor(one), torch.tensor(two), rtol=1e-4, atol=1e-6)


def test_it_follows_the_module_to_other_dtypes_and_sizes():
    module = layers(mindtorch).eval()
    traced = mindtorch.jit.trace(module, mindtorch.zeros(2, 3))
    traced.double()
    x = mindtorch.ones(7, 3, dtype=mindtorch.float64)
    assert mindtorch.equal(traced(x), module(x))
    assert not traced.training


def test_containers_and_detached_results(device):
    def function(pair, *, scale):
        x, y = pair
        return {"detached": x.detach() * y, "scaled": [(x * scale).relu(), y.detach()]}
    traced = mindtorch.jit.trace(function, ((mindtorch.ones(2, device=device), mindtorch.ones(2, device=device)),),
                                 example_kwarg_inputs={"scale": mindtorch.ones(1, device=device)})
    x = mindtorch.tensor([2.0, -3.0], device=device, requires_grad=True)
    found = traced((x, x), scale=mindtorch.tensor([2.0], device=device))
    assert (found["scaled"][0].tolist(), found["scaled"][1].requires_grad) == ([4.0, 0.0], False)
    found["detached"].sum().backward()
    assert x.grad.tolist() == [2.0, -3.0]
    with pytest.raises(RuntimeError, match="another form"):
        traced(x, scale=x)


def test_what_is_saved_for_backward_is_not_the_result():
    """make_fx: autograd detaches what it saves, in the same place as the result."""
    from mindtorch.fx.experimental.proxy_tensor import make_fx
    graph = make_fx(lambda x: x.exp())(mindtorch.ones(2, requires_grad=True))
    x = mindtorch.ones(2, requires_grad=True)
    graph(x).sum().backward()
    assert x.grad.tolist() == pytest.approx([2.71828] * 2, rel=1e-4)


def test_what_tracing_refuses():
    trace = mindtorch.jit.trace
    traced = trace(lambda x: x + 1, mindtorch.ones(1))
    assert trace(traced, mindtorch.ones(1)) is traced
    assert mindtorch.jit.trace_module(layers(mindtorch), {"forward": mindtorch.ones(2, 3)})(
        mindtorch.ones(2, 3)).shape == (2, 2)
    with pytest.raises(NotImplementedError, match="the method forward only"):
        mindtorch.jit.trace_module(layers(mindtorch), {"other": mindtorch.ones(2, 3)})
    with pytest.raises(RuntimeError, match="example_kwarg_inputs should be a dict"):
        trace(lambda x: x)
    with pytest.raises(RuntimeError, match="Only tensors"):
        trace(lambda x: 1, mindtorch.ones(1))
    assert copy.deepcopy(traced)(mindtorch.ones(1)).item() == 2
