"""Averages of models and their rates beside torch's."""
import importlib
import warnings

import pytest
import torch
from optim_problems import assert_close, plain

import mindtorch


def utils(lib):
    return importlib.import_module(f"{lib.__name__}.optim.swa_utils")


def network(lib, device, whole=True):
    """Parameters of two dtypes and buffers of two kinds, with fixed values."""
    net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3), lib.nn.Dropout(0.5), lib.nn.Linear(3, 1).half())
    for index, param in enumerate(net.parameters()):
        param.data.copy_(lib.arange(param.numel()).reshape(param.shape) / 8 + index)
    return net.to(device)


def shift(net, number):
    for param in net.parameters():
        param.data.add_(number)
    for buffer in net.buffers():
        buffer.add_(number * 2)


AVERAGES = {
    "equal": lambda u: {},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.75)},
    "ema of lists": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.75)},
    "swa": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "swa of lists": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "own": lambda u: {"avg_fn": lambda average, value, count: average + value * count},
}


@pytest.mark.parametrize("buffers", [False, True])
@pytest.mark.parametrize("name", AVERAGES)
def test_averages(both, name, buffers):
    results = []
    for lib, device in both:
        net = network(lib, device)
        model = utils(lib).AveragedModel(net, use_buffers=buffers, **AVERAGES[name](utils(lib)))
        outcome = None
        try:
            for number in (1, 3, 4):
                model.update_parameters(net)
                shift(net, number)
        except RuntimeError as error:
            outcome = str(error).partition(" is no longer supported")[0]
        results.append((plain(model.state_dict()), outcome, model.training))
    assert (name == "swa of lists" and buffers) == (results[0][1] is not None)
    assert results[1][1:] == results[0][1:]
    assert_close(results[1][0], results[0][0], 1e-3)


def test_doubles_on_the_device():
    """Where CANN has no lerp of float64, the average is taken all the same."""
    net = mindtorch.nn.Linear(2, 2).double().to("npu")
    model = utils(mindtorch).AveragedModel(net)
    first = net.weight.detach().cpu().numpy().copy()
    for _ in range(3):
        model.update_parameters(net)
        shift(net, 1)
    assert_close(model.module.weight.detach().cpu().numpy(), first + 1)


def test_model_of_another_device_and_forward(both):
    for lib, device in both:
        net = lib.nn.Linear(2, 2)
        model = utils(lib).AveragedModel(net, device=device)
        model.update_parameters(net)
        assert model.n_averaged.device.type == model.module.weight.device.type == device
        inputs = lib.ones(3, 2)
        assert_close(plain(model(inputs.to(device))), plain(net(inputs)))


def test_names_and_text(both):
    texts = [(list(model.state_dict()), repr(model)) for model in
             (utils(lib).AveragedModel(lib.nn.Linear(2, 1)) for lib, _ in both)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("as_list", [False, True])
def test_update_bn(both, as_list):
    results = []
    for lib, device in both:
        net = network(lib, device).float()
        net[1].momentum = 0.3
        net.eval()
        batches = [lib.arange(8).reshape(4, 2) * number / 4 for number in (1.0, 2.0, -1.0)]
        loader = [[batch, 0] for batch in batches] if as_list else batches
        assert utils(lib).update_bn(loader, net, device=device) is None
        results.append((plain(net.state_dict()), net.training, net[1].momentum))
        assert utils(lib).update_bn(None, lib.nn.Linear(2, 2)) is None
    assert_close(results[1], results[0], 1e-4)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 3])
def test_swalr(both, strategy, epochs):
    traces = []
    for lib, device in both:
        params = [lib.ones(1, device=device, requires_grad=True) for _ in range(2)]
        optimizer = lib.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.1)
        other = lib.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        schedule = utils(lib).SWALR(optimizer, [0.01, 0.02], epochs, strategy)
        trace = []
        for turn in range(7):
            optimizer.step()
            (other if turn < 2 else schedule).step()
            trace.append([*schedule.get_last_lr(), *(group["lr"] for group in optimizer.param_groups)])
        again = utils(lib).SWALR(optimizer, 0.5)
        again.load_state_dict(schedule.state_dict())
        optimizer.step()
        again.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again.get_lr()
        traces.append((trace, again.state_dict(), [group["swa_lr"] for group in optimizer.param_groups],
                       [str(warning.message) for warning in caught]))
    assert traces[0][3] == traces[1][3] != []
    assert_close(traces[1][:3], traces[0][:3], 1e-9)


def optimizer_of(lib):
    return lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1)


WRONG = {
    "strategy": lambda lib, u: u.SWALR(optimizer_of(lib), 0.1, 10, "x"),
    "epochs": lambda lib, u: u.SWALR(optimizer_of(lib), 0.1, -1),
    "part of an epoch": lambda lib, u: u.SWALR(optimizer_of(lib), 0.1, 1.5),
    "rates": lambda lib, u: u.SWALR(optimizer_of(lib), [0.1, 0.2]),
    "no optimizer": lambda lib, u: u.SWALR(3, 0.1),
    "two functions": lambda lib, u: u.AveragedModel(lib.nn.Linear(1, 1), avg_fn=min, multi_avg_fn=max),
    "decay": lambda lib, u: u.get_ema_avg_fn(1.5),
    "decay of lists": lambda lib, u: u.get_ema_multi_avg_fn(-1),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use(name):
    errors = []
    for lib in (torch, mindtorch):
        with pytest.raises((ValueError, AssertionError, AttributeError)) as refused:
            WRONG[name](lib, utils(lib))
        errors.append((type(refused.value), str(refused.value)))
    assert errors[0] == errors[1]
