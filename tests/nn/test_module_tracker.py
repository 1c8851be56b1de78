"""ModuleTracker beside torch's: which modules it says a program is in."""
import importlib

import pytest
import torch

import mindtorch
import mindtorch.utils.module_tracker


def seen(lib, needs_grad):
    """The tracker's names in forwards and backwards, of a module in another and of one that is called twice."""
    tracking = importlib.import_module(f"{lib.__name__}.utils.module_tracker")

    class Inner(lib.nn.Module):
        def forward(self, x):
            found.append(("forward", sorted(tracker.parents), tracker.is_bw))
            y = x["a"] * 2
            y.register_hook(lambda gradient: found.append(("backward", sorted(tracker.parents), tracker.is_bw)))
            return {"a": y}

    class Outer(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = Inner()
            self.more = lib.nn.ModuleList([Inner()])
            self.linear = lib.nn.Linear(2, 2)

        def forward(self, x):
            return self.more[0](self.one({"a": self.linear(x)}))

    found, net = [], Outer()
    with tracking.ModuleTracker() as tracker:
        for _ in range(2):
            net(lib.ones(1, 2, requires_grad=needs_grad))["a"].sum().backward()
            found.append(("after", sorted(tracker.parents), tracker.is_bw))
    net(lib.ones(1, 2))
    return found


@pytest.mark.parametrize("needs_grad", [True, False])
def test_names_of_modules(needs_grad):
    assert seen(mindtorch, needs_grad) == seen(torch, needs_grad)


def test_a_module_that_fails_is_left():
    with mindtorch.utils.module_tracker.ModuleTracker() as tracker:
        with pytest.raises(TypeError):
            mindtorch.nn.Linear(2, 2)(None)
        assert tracker.parents == {"Global"}


def test_a_module_that_calls_itself():
    class Twice(mindtorch.nn.Module):
        again = True

        def forward(self, x):
            self.again = not self.again
            return x * 2 if self.again else self(x)

    with mindtorch.utils.module_tracker.ModuleTracker() as tracker:
        Twice()(mindtorch.ones(2, requires_grad=True)).sum().backward()
    assert tracker.parents == {"Global"}
