"""LBFGS beside torch's: where it asks for the loss, where it ends, what it keeps."""
import copy

import pytest
import torch
from optim_problems import assert_close, plain

import mindtorch


def rosenbrock(lib, x, y):
    return (1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2 + (y**4).sum()


def mixed(lib, x, y):
    return (1 - x[0])**2 + 3 * (x[1] - x[0]**2)**2 + (y**4).sum() + (x * y[:, 0]).sum()


def valley(lib, x, y):
    return (x * x * lib.tensor([1.0, 30.0], dtype=x.dtype, device=x.device)).sum() + (y.cos()).sum()


class Descent:
    """A problem of two parameters, and where its loss was asked for."""

    def __init__(self, lib, device, loss, **options):
        self.lib, self.loss, self.trace = lib, loss, []
        dtype = lib.float64 if device == "cpu" else lib.float32
        self.x = lib.tensor([1.5, -0.5], dtype=dtype, device=device, requires_grad=True)
        self.y = lib.tensor([[0.3], [0.8]], dtype=dtype, device=device, requires_grad=True)
        self.optimizer = lib.optim.LBFGS([self.x, self.y], **options)

    def closure(self):
        self.optimizer.zero_grad()
        loss = self.loss(self.lib, self.x, self.y)
        loss.backward()
        self.trace.append([*self.x.tolist(), loss.item()])
        return loss

    def run(self, steps):
        return [self.optimizer.step(self.closure).item() for _ in range(steps)]


CASES = [(loss, {"line_search_fn": search, **options}) for loss in (rosenbrock, mixed, valley)
         for search in (None, "strong_wolfe")
         for options in ({"max_iter": 4, "lr": 0.1}, {"max_iter": 5, "history_size": 2},
                         {"max_iter": 3, "max_eval": 9, "tolerance_change": 1e-3},
                         {"max_iter": 1}, {"max_eval": 1}, {"tolerance_grad": 1e3}, {"max_iter": 0})
         if search or options.get("lr")]


@pytest.mark.parametrize(("loss", "options"), CASES)
def test_descent(both, device, loss, options):
    theirs, ours = (Descent(*place, loss, **options) for place in both)
    tolerance = 1e-6 if device == "cpu" else 1e-2
    assert_close(ours.run(3), theirs.run(3), tolerance)
    assert_close(ours.trace, theirs.trace, tolerance)
    state, expected = ours.optimizer.state_dict()["state"][0], theirs.optimizer.state_dict()["state"][0]
    assert list(state) == list(expected)
    assert [state["func_evals"], state["n_iter"]] == [expected["func_evals"], expected["n_iter"]]
    if device == "cpu":
        assert_close(plain({**state, "al": 0}), plain({**expected, "al": 0}), 1e-4)


def test_a_gradient_of_zeros_is_no_division_by_zero(both):
    """No tolerance ends the step before it divides by the sum of the gradient."""
    losses = []
    for lib, device in both:
        x = lib.zeros(2, device=device, requires_grad=True)
        optimizer = lib.optim.LBFGS([x], tolerance_grad=-float("inf"))

        def closure(x=x, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (x * x).sum() + 3
            loss.backward()
            return loss

        losses.append([optimizer.step(closure).item(), x.tolist()])
    assert losses[0] == losses[1] == [3, [0, 0]]


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_goes_on_from_a_state(both, search):
    for place in both:
        first = Descent(*place, mixed, line_search_fn=search, max_iter=3, lr=0.1)
        first.run(2)
        second = Descent(*place, mixed, line_search_fn=search, max_iter=3, lr=0.1)
        for name in ("x", "y"):
            getattr(second, name).data.copy_(getattr(first, name).data)
        second.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
        assert_close(second.run(2), first.run(2))


def test_state_goes_to_torch_and_back():
    ours, theirs = (Descent(lib, "cpu", mixed, line_search_fn="strong_wolfe", max_iter=3) for lib in (mindtorch, torch))
    for descent in (ours, theirs):
        descent.run(1)
    def as_torch(value):
        if isinstance(value, list):
            return list(map(as_torch, value))
        return torch.tensor(value.numpy()) if isinstance(value, mindtorch.Tensor) else value
    state = ours.optimizer.state_dict()
    packed = {key: as_torch(value) for key, value in state["state"][0].items()}
    theirs.optimizer.load_state_dict({"state": {0: packed}, "param_groups": state["param_groups"]})
    assert_close(ours.run(2), theirs.run(2), 1e-6)


def test_copies_and_complex_parameters(both):
    for lib, device in both:
        param = lib.tensor([1.5 + 1j], device=device, requires_grad=True)
        optimizer = copy.deepcopy(lib.optim.LBFGS([param])) if lib is mindtorch else lib.optim.LBFGS([param])
        param = optimizer.param_groups[0]["params"][0]

        def closure():
            optimizer.zero_grad()                                       # noqa: B023 - called in this turn
            loss = (lib.view_as_real(param)**2).sum()                   # noqa: B023 - called in this turn
            loss.backward()
            return loss
        assert optimizer.step(closure).item() == 3.25
        assert abs(param.detach().cpu().numpy()).max() < 1e-5


def test_failing_closure_leaves_the_state(device):
    descent = Descent(mindtorch, device, mixed, line_search_fn="strong_wolfe", max_iter=3)
    descent.run(1)
    before = plain({**descent.optimizer.state_dict()["state"][0], "func_evals": 0, "al": 0})
    calls = iter(range(2))

    def closure():
        if next(calls) == 1:
            raise KeyError("loss")
        return descent.closure()
    with pytest.raises(KeyError, match="loss"):
        descent.optimizer.step(closure)
    assert_close(plain({**descent.optimizer.state_dict()["state"][0], "func_evals": 0, "al": 0}), before)


WRONG = {
    "rate": lambda lib, x: lib.optim.LBFGS([x], lr=-1),
    "nan": lambda lib, x: lib.optim.LBFGS([x], lr=float("nan")),
    "large rate": lambda lib, x: lib.optim.LBFGS([x], lr=lib.ones(2)),
    "groups": lambda lib, x: lib.optim.LBFGS([{"params": [x]}, {"params": [x.detach().clone()]}]),
    "no closure": lambda lib, x: lib.optim.LBFGS([x]).step(),
    "search": lambda lib, x: Descent(lib, x.device, mixed, line_search_fn="x").run(1),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use(both, name):
    errors = []
    for lib, device in both:
        with pytest.raises((ValueError, RuntimeError, TypeError)) as refused:
            WRONG[name](lib, lib.ones(2, device=device, requires_grad=True))
        errors.append((type(refused.value), str(refused.value)))
    assert errors[0] == errors[1]


def test_defaults(both):
    texts = [repr(lib.optim.LBFGS([lib.ones(2, device=device, requires_grad=True)])) for lib, device in both]
    assert texts[0] == texts[1]
