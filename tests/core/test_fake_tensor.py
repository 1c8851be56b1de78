"""FakeTensorMode: shapes, dtypes and devices without elements, beside torch."""
import subprocess
import sys

import pytest
import torch
import torch._subclasses

import mindtorch
import mindtorch._subclasses


def looks(value):
    if isinstance(value, (tuple, list)):
        return [looks(item) for item in value]
    return tuple(value.shape), value.stride(), str(value.dtype).replace("mindtorch", "torch"), value.device.type


WITHIN = {
    "factories": lambda lib, t: [lib.zeros(2, 3), lib.arange(4), lib.empty(2, dtype=lib.float64), lib.randn(3)],
    "numbers": lambda lib, t: lib.tensor([1., 2]), "arithmetic": lambda lib, t: [t + 1, t @ t.t(), t.sum(0), t.exp()],
    "views": lambda lib, t: [t.t(), t[0], t.reshape(-1), t.unsqueeze(0)], "in place": lambda lib, t: t.add_(1),
    "module": lambda lib, t: lib.nn.Linear(3, 5)(t), "casts": lambda lib, t: t.to(lib.float16),
    "two results": lambda lib, t: t.max(dim=1), "cat": lambda lib, t: lib.cat([t, t]),
    "convolution": lambda lib, t: lib.nn.Conv2d(3, 4, 3)(lib.zeros(2, 3, 8, 8)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_fake_tensors_look_as_in_torch(name):
    found = []
    for lib in (torch, mindtorch):
        with lib._subclasses.FakeTensorMode() as mode:
            found.append(looks(WITHIN[name](lib, mode.from_tensor(lib.ones(2, 3)))))
    assert found[0] == found[1]


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_what_needs_elements_is_refused(lib):
    with lib._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(lib.ones(2, 3))
        with pytest.raises(lib._subclasses.fake_tensor.DataDependentOutputException):
            fake.sum().item()
        with pytest.raises(lib._subclasses.DynamicOutputShapeException):
            fake.nonzero()
    with pytest.raises(Exception, match="Please convert all Tensors to FakeTensors first"):
        fake + lib.ones(2, 3)


@pytest.mark.parametrize("lib", [torch, mindtorch])
def test_a_fake_tensor_has_gradients(lib):
    with lib._subclasses.FakeTensorMode() as mode:
        fake = mode.from_tensor(lib.ones(2, 3)).requires_grad_()
        (fake * 2).exp().sum().backward()
        assert lib._subclasses.fake_tensor.is_fake(fake.grad)
        assert fake.grad.shape == (2, 3)


def test_a_fake_tensor_shows_an_npu():
    with mindtorch._subclasses.FakeTensorMode():
        made = mindtorch.zeros(2, device="npu") + 1
    assert made.device.type == "npu"
    assert made.is_npu


def test_importing_it_slows_nothing_down():
    """Operators look for handlers from the first fake tensor on."""
    program = ("import mindtorch, mindtorch._subclasses as s\n"
               "from mindtorch._core.tensor.torch_dispatch import is_active\n"
               "assert not is_active()\nwith s.FakeTensorMode(): mindtorch.ones(2)\nassert is_active()")
    subprocess.run([sys.executable, "-c", program], check=True)
