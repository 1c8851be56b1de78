"""What torch.compile makes of a module: every scenario runs in torch and here, and must tell the same."""
import copy
import inspect
import pickle

import pytest
import torch
from compare_with_torch import check

import mindtorch


@pytest.fixture(autouse=True)
def _compiles_nothing(monkeypatch):
    """In torch too, which takes seconds; mindtorch has said so already."""
    monkeypatch.setattr(mindtorch.compiler, "_said", True)
    with torch.compiler.set_stance("force_eager"):
        yield


def pair(t):
    """A module and what is made of it."""
    with t.random.fork_rng(devices=[]):
        module = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Dropout(0.))
    with t.no_grad():
        for parameter in module.parameters():
            parameter.fill_(0.5)
    return module, t.compile(module, backend="eager")


def raised(function, *args):
    try:
        return function(*args)
    except (AttributeError, TypeError) as error:
        return type(error).__name__, str(error)


def parts(t, d):
    module, made = pair(t)
    return (repr(made), list(made.state_dict()), [name for name, _ in made.named_parameters()],
            [name for name, _ in made.named_modules()], made._orig_mod is module, len(list(made.children())),
            type(made) is t._dynamo.OptimizedModule is t._dynamo.eval_frame.OptimizedModule,
            isinstance(made, t.nn.Sequential), str(inspect.signature(made.forward)), made(t.ones(1, 2)),
            module.load_state_dict(module.state_dict()) is None, str(made.load_state_dict(made.state_dict())))


def attributes(t, d):
    module, made = pair(t)
    made.width = 3
    made.extra = t.nn.Parameter(t.ones(1))
    found = module.width, made.width, list(module._parameters), list(made._parameters), "width" in dir(made)
    del made.width
    return (found, hasattr(module, "width"), len(made), raised(len, t.compile(t.nn.ReLU(), backend="eager")),
            raised(getattr, made, "none"), raised(lambda: made[0]), raised(delattr, made, "none"))


def mode(t, d):
    module, made = pair(t)
    found = [made.training, made.eval().training, module.training, module[1].training]
    module.train()
    found += [made.training]
    made.training = False
    return *found, module.training, module[1].training, t.compile(module, backend="eager").training


def hooks(t, d):
    module, made = pair(t)
    told = []
    made.register_forward_pre_hook(lambda *args: told.append("pre"))
    made.register_forward_hook(lambda *args: told.append("hook"))
    made(t.ones(1, 2)).sum().backward()
    return told, len(made._forward_hooks), len(module._forward_hooks), module[0].weight.grad


def copies(t, d):
    module, made = pair(t)
    made.eval()
    copied = copy.deepcopy(made), copy.copy(made)
    return [(type(each).__name__, each.training, each._orig_mod is module, each(t.ones(1, 2))) for each in copied]


def other_ways(t, d):
    module, _ = pair(t)
    state = list(module.state_dict())
    return (module.compile(backend="eager"), list(module.state_dict()) == state, module(t.ones(1, 2)),
            t.compile(module, backend="eager", disable=True) is module,
            type(t.compile(backend="eager")(module)).__name__, type(t._dynamo.optimize("eager")(module)).__name__,
            t.compile(t.nn.LazyLinear(3), backend="eager")(t.ones(2, 2)).shape,
            type(t.compile(module, backend="eager").dynamo_ctx).__name__,
            raised(t._dynamo.OptimizedModule, module))


@pytest.mark.parametrize("scenario", [parts, attributes, mode, hooks, copies, other_ways])
def test_optimized_module(scenario):
    check(scenario, "cpu")


def test_pickles():
    made = mindtorch.compile(mindtorch.nn.Linear(1, 1))
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is mindtorch._dynamo.OptimizedModule
    assert str(again.state_dict()) == str(made.state_dict())


def test_a_module_is_wrapped_once():
    made = mindtorch.compile(mindtorch.nn.Linear(1, 1))
    assert mindtorch.compile(made) is made
