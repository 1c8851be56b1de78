"""Classes derived from Tensor: how their instances are made."""
import re

import numpy as np
import pytest
import torch

import mindtorch


def derived(lib):
    """A class with an argument of its own, as custom tensors and parameters of data sets have them."""
    class Named(lib.Tensor):
        @staticmethod
        def __new__(cls, data, name=None, **options):
            return super().__new__(cls, data, **options)

        def __init__(self, data, name=None):
            self.name_given = name
    return Named


ARGUMENTS = {
    "tensor": lambda lib, device: lib.ones(2, device=device), "list": lambda lib, device: [1, 2],
    "array": lambda lib, device: np.array([1.0, 2.0]), "integers": lambda lib, device: lib.arange(3, device=device),
    "with history": lambda lib, device: lib.ones(2, requires_grad=True, device=device) * 2,
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_made_by_the_constructor(name, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        cls = derived(lib)
        made = cls(ARGUMENTS[name](lib, place), name="a")
        assert type(made) is cls
        assert isinstance(made, lib.Tensor)
        assert made.name_given == "a"
        found.append((made.tolist(), str(made.dtype), made.requires_grad, made.is_leaf))
    assert found[0] == found[1]


def test_elements_are_shared(device):
    data = mindtorch.zeros(2, device=device)
    derived(mindtorch)(data).add_(1)
    mindtorch.Tensor._make_subclass(derived(mindtorch), data).add_(1)
    assert data.tolist() == [2, 2]


@pytest.mark.parametrize("wanted", [False, True])
def test_make_subclass(wanted):
    found = []
    for lib in (mindtorch, torch):
        cls = derived(lib)
        made = lib.Tensor._make_subclass(cls, lib.ones(2), wanted)
        assert type(made) is cls
        (made * 2).sum().backward() if wanted else None
        found.append((made.requires_grad, made.is_leaf, None if made.grad is None else made.grad.tolist()))
    assert found[0] == found[1]


def test_make_subclass_of_a_class_with_a_metaclass():
    """As a Parameter's is, or one that a program derives from it."""
    for lib in (mindtorch, torch):
        meta = type("Meta", (type(lib.nn.Parameter),), {})
        derived_parameter = meta("Derived", (lib.nn.Parameter,), {})
        for cls in (lib.nn.Parameter, derived_parameter):
            made = lib.Tensor._make_subclass(cls, lib.ones(2), True)
            assert type(made) is cls
            assert made.requires_grad


@pytest.mark.parametrize("make", [lambda lib, kind: lib.Tensor._make_subclass(kind, lib.ones(2)),
                                  lambda lib, kind: lib.Tensor._make_wrapper_subclass(kind, (2,))])
@pytest.mark.parametrize("kind", [int, 3])
def test_make_subclass_of_what_is_no_tensor_class(make, kind):
    with pytest.raises(TypeError) as expected:
        make(torch, kind)
    with pytest.raises(TypeError, match=re.escape(str(expected.value))):
        make(mindtorch, kind)
