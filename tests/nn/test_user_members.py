"""Derived classes with members of their own, of names that a class could have in private."""
import pytest
import torch

import mindtorch


def test_transformed_distribution_with_a_transform_of_its_own():
    def density(lib):
        class Smoothed(lib.distributions.TransformedDistribution):
            def __init__(self):
                super().__init__(lib.distributions.Normal(0.0, 1.0), [lib.distributions.ExpTransform()])
                self._transform, self._sign = None, None
        lib.manual_seed(0)
        return [*Smoothed().rsample((3,)).tolist(), Smoothed().cdf(lib.tensor(0.5)).item()]
    assert density(mindtorch) == pytest.approx(density(torch))


def test_module_with_members_of_its_own():
    class Cell(mindtorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = mindtorch.nn.Linear(2, 2)
            self._forget, self._cast, self._swap, self._unexpected = 1, 2, 3, 4

        def _attribute(self):
            raise AssertionError

        _set_buffer = _check_name = _own_state = _load_tensor = _attribute

    cell = Cell()
    cell.register_buffer("seen", mindtorch.zeros(2))
    cell.load_state_dict(cell.double().state_dict())
    assert cell.layer.weight.dtype is mindtorch.float64


def test_optimizer_with_members_of_its_own():
    class Scheduled(mindtorch.optim.Adam):
        def _update(self):
            raise AssertionError

        _count = _run = _start = _rate = _tensors = _step_group = _update

    weight = mindtorch.ones(2, requires_grad=True)
    optimizer = Scheduled([weight])
    weight.sum().backward()
    optimizer.step()
    assert weight.tolist() != [1.0, 1.0]
