"""The steps of optimizers as functions of lists (torch.optim.adam.adam and its like) beside torch's."""
import importlib
import inspect

import pytest
import torch
from optim_problems import Problem, assert_close, plain

import mindtorch

RATES = {"lr": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1, "maximize": False}
OPTIONS = {
    "sgd": {"momentum": 0.9, "dampening": 0.5, "nesterov": False},
    "adam": {"amsgrad": True},
    "adamw": {"amsgrad": False},
    "adadelta": {"rho": 0.8},
    "adagrad": {"lr_decay": 0.1},
    "adamax": {},
    "radam": {},
    "nadam": {"momentum_decay": 0.01},
    "asgd": {"lambd": 0.01, "t0": 1.0, "alpha": 0.75},
    "rmsprop": {"alpha": 0.9, "momentum": 0.5, "centered": True},
    "rprop": {"step_size_min": 0.01, "step_size_max": 0.5, "etaminus": 0.5, "etaplus": 1.2},
    "_adafactor": {"d": 1.0, "beta2_decay": -0.8, "eps1": 1e-6, "eps2": 1e-3},
}
FUSED = ("sgd", "adam", "adamw", "adagrad")
FIRST = {"mu_products": 1.0, "mus": 1.0, "etas": 0.1, "step_sizes": 0.1}
NUMBERS = ("state_steps", "mu_products", "mus", "etas")
FORMS = {"default": {}, "single": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
CASES = [(name, form) for name in OPTIONS for form in FORMS if form != "fused" or name in FUSED]


def function(lib, name):
    return getattr(importlib.import_module(f"{lib.__name__}.optim.{name}"), name.strip("_"))


def state_of(lib, name, device, options, params):
    """The lists of states that the function takes, as a fresh optimizer has them."""
    on_device = device if options.get("fused") or name == "asgd" else "cpu"
    lists = {}
    for parameter in list(inspect.signature(function(torch, name)).parameters.values())[2:]:
        if parameter.default is not parameter.empty or parameter.kind is parameter.KEYWORD_ONLY:
            break
        first = FIRST.get(parameter.name, 0.0)
        if parameter.name in NUMBERS:
            lists[parameter.name] = [lib.tensor(first, device=on_device) for _ in params]
        elif name == "_adafactor":
            lists[parameter.name] = [factor(lib, parameter.name, param) for param in params]
        elif name == "sgd":
            lists[parameter.name] = [None for _ in params]
        elif parameter.name == "max_exp_avg_sqs" and not options["amsgrad"]:
            lists[parameter.name] = []
        else:
            lists[parameter.name] = [lib.full_like(param, first) for param in params]
    return lists


def factor(lib, name, param):
    shapes = {"row_vars": (*param.shape[:-1], 1), "col_vars": (*param.shape[:-2], 1, param.shape[-1]),
              "variances": param.shape}
    wanted = (name == "variances") == (param.dim() == 1)
    return lib.zeros(shapes[name], dtype=param.dtype, device=param.device) if wanted else None


def steps(lib, device, name, form, count=3, **more):
    given = inspect.signature(function(torch, name)).parameters
    options = {key: value for key, value in (RATES | OPTIONS[name]).items() if key in given} | FORMS[form] | more
    problem = Problem(lib, device)
    params = [param.detach() for param in problem.params]
    lists = state_of(lib, name, device, options, params)
    for _ in range(count):
        problem.gradients()
        assert function(lib, name)(params, [param.grad for param in problem.params], *lists.values(), **options) is None
    return plain(params), plain(lists)


@pytest.mark.parametrize(("name", "form"), CASES)
def test_steps(both, name, form):
    theirs, ours = (steps(*place, name, form) for place in both)
    assert_close(ours, theirs)


@pytest.mark.parametrize("name", OPTIONS)
def test_signatures(name):
    ours, theirs = (inspect.signature(function(lib, name)).parameters.values() for lib in (mindtorch, torch))
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


@pytest.mark.parametrize("infinite", [0.0, 1.0])
@pytest.mark.parametrize("name", FUSED)
def test_scaled_gradients(both, name, infinite):
    theirs, ours = (steps(lib, device, name, "fused", found_inf=lib.tensor(infinite, device=device),
                          grad_scale=lib.tensor(2.0, device=device)) for lib, device in both)
    if infinite and name == "sgd":
        theirs, ours = theirs[0], ours[0]       # momenta that no step has written
    assert_close(ours, theirs)


def test_nothing_to_do_and_wrong_steps(both):
    numbers = {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.0}
    messages = []
    for lib, _ in both:
        adamax, ones = function(lib, "adamax"), [lib.ones(2)]
        adamax([], [], [], [], [], **numbers)
        with pytest.raises(RuntimeError) as refused:
            adamax(ones, ones, ones, ones, [1], **numbers)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_all_in_one_place():
    ours, theirs = (importlib.import_module(f"{lib.__name__}.optim._functional") for lib in (mindtorch, torch))
    assert [name for name in ours.__all__ if not hasattr(theirs, name)] == []
    assert all(getattr(ours, name) is function(mindtorch, name) for name in ours.__all__)
