"""Modules whose activations are computed again, or kept on the CPU: beside torch, in one process."""
import copy
import functools
import importlib

import numpy as np
import pytest
import torch as theirs

import mindtorch as ours


def wrappers(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.algorithms._checkpoint.checkpoint_wrapper")


def network(torch):
    net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(5, 4)),
                              torch.nn.Linear(4, 2))
    with torch.no_grad():
        for place, each in enumerate(net.parameters()):
            each.copy_((torch.arange(each.numel()).reshape(each.shape) + place).float().cos())
    return net


def ways(torch):
    """Name -> a function that wraps a network."""
    w, wrap = wrappers(torch), importlib.import_module(f"{torch.__name__}.distributed.fsdp.wrap")
    linear = functools.partial(w.apply_activation_checkpointing, check_fn=lambda each: type(each) is torch.nn.Linear)
    return {"all": w.apply_activation_checkpointing, "linear": linear,
            "reentrant": functools.partial(linear, checkpoint_wrapper_fn=functools.partial(
                w.checkpoint_wrapper, checkpoint_impl=w.CheckpointImpl.REENTRANT)),
            "offloaded": functools.partial(w.apply_activation_checkpointing, checkpoint_wrapper_fn=w.offload_wrapper),
            "policy": functools.partial(w.apply_activation_checkpointing,
                                        auto_wrap_policy=wrap.ModuleWrapPolicy([torch.nn.Sequential]))}


def outcome(torch, way, device):
    net = network(torch)
    plain = copy.deepcopy(net)
    ways(torch)[way](net)
    net.to(device)
    calls = []
    for each in net.modules():
        if type(each) is torch.nn.Linear:
            each.register_forward_pre_hook(lambda *_: calls.append(1))
    loss = net(torch.arange(6, dtype=torch.float32, device=device).reshape(2, 3).requires_grad_()).pow(2).sum()
    loss.backward()
    state = net.state_dict()
    net.load_state_dict({name: value * 2 for name, value in state.items()})
    doubled = [bool((value == state_value * 2).all()) for value, state_value in zip(
        net.state_dict().values(), plain.state_dict().values(), strict=True)] if device == "cpu" else None
    return {"names": list(state), "parameters": [name for name, _ in net.named_parameters()],
            "own": [name for name, _ in net[0].named_parameters()], "features": net[0].in_features,
            "shown": str(net), "calls": len(calls), "doubled": doubled,
            "values": [each.grad.cpu().numpy() for each in net.parameters()]}


@pytest.mark.parametrize("way", ["all", "linear", "reentrant", "offloaded", "policy"])
def test_wrapped_modules_are_those_of_torch(way, device):
    found, expected = (outcome(torch, way, each) for torch, each in ((ours, device), (theirs, "cpu")))
    for one, other in zip(found.pop("values"), expected.pop("values"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    if device == "npu":
        expected["doubled"] = None
    assert found == expected


def test_arguments_and_functions(device):
    w = wrappers(ours)

    class Named(ours.nn.Module):
        def forward(self, x, *, y=None, flag=True):
            return x * y if flag else x

    for kind in w.CheckpointImpl:
        x, y = (ours.ones(2, device=device, requires_grad=True) for _ in range(2))
        w.checkpoint_wrapper(Named(), kind)(x, y=y * 3, flag=True).sum().backward()
        assert x.grad.tolist() == [3, 3]
        assert y.grad.tolist() == [3, 3]
    called = []

    def function(module, *args, mark, **kwargs):
        called.append(mark)
        return module(*args, **kwargs)
    layers = w.checkpoint_wrapper(ours.nn.Sequential(ours.nn.Identity()), checkpoint_fn=function, mark="once")
    assert layers(5) == 5
    assert called == ["once"]
    assert type(layers[0]) is ours.nn.Identity
    with pytest.raises(AttributeError, match="nothing"):
        layers.nothing  # noqa: B018 - it is asked for
