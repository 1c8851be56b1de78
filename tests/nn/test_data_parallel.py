"""nn.parallel: parts of a batch on several NPUs; a process of two simulated devices beside torch's whole batch."""
import os
import subprocess
import sys

import pytest
import torch as oracle

import mindtorch
from mindtorch import nn

TWO_DEVICES = '''
import mindtorch as t
import torch as oracle
from mindtorch.nn import parallel

assert t.npu.device_count() == 2
layers = [lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 2)) for lib in (t, oracle)]
layers[0].load_state_dict({name: t.tensor(value.numpy()) for name, value in layers[1].state_dict().items()})
module = t.nn.DataParallel(layers[0].to("npu:0"))
x = oracle.randn(5, 3)
ours, theirs = module(t.tensor(x.numpy())), layers[1](x)
assert str(ours.device) == "npu:0"
ours.square().sum().backward()
theirs.square().sum().backward()
pairs = [(ours.detach(), theirs.detach())]
pairs += [(a.grad, b.grad) for a, b in zip(layers[0].parameters(), layers[1].parameters())]
for a, b in pairs:
    assert oracle.allclose(oracle.tensor(a.cpu().numpy()), b, atol=1e-5), (a, b)

copies = parallel.replicate(layers[0], [0, 1])
assert [str(copy[0].weight.device) for copy in copies] == ["npu:0", "npu:1"]
assert all(copy[0].weight.grad_fn is not None for copy in copies)
assert not any(copy[0].weight.requires_grad for copy in parallel.replicate(layers[0], [0, 1], detach=True))

parts = parallel.scatter({"a": [t.arange(4), 3], "b": (t.arange(4) * 2,)}, [0, 1])
assert [[part["a"][0].tolist(), part["a"][1], part["b"][0].tolist()] for part in parts] == [
    [[0, 1], 3, [0, 2]], [[2, 3], 3, [4, 6]]]
assert [str(part["a"][0].device) for part in parts] == ["npu:0", "npu:1"]
joined = parallel.gather([part["b"] for part in parts], "cpu")
assert joined[0].tolist() == [0, 2, 4, 6] and str(joined[0].device) == "cpu"
assert parallel.gather([{"x": t.ones(2, device=f"npu:{n}"), "y": None} for n in (0, 1)], 1)["x"].shape == (4,)


class Fails(t.nn.Module):
    def forward(self, x):
        if x.device.index == 1:
            raise ValueError("not here")
        return x


try:
    t.nn.DataParallel(Fails())(t.ones(4))
except ValueError as error:
    assert "Caught ValueError in replica on device npu:1" in str(error) and "not here" in str(error)
else:
    raise AssertionError("no error")
assert t.nn.DataParallel(Fails())(t.ones(1)).tolist() == [1]


class Told(t.nn.Linear):
    def _replicate_for_data_parallel(self):
        copied = super()._replicate_for_data_parallel()
        copied.told = True
        return copied


told = Told(2, 2).npu()
assert all(copied.told and copied._is_replica for copied in parallel.replicate(told, [0, 1]))
assert not hasattr(told, "told")
print("done")
'''


def test_two_devices():
    environment = {**os.environ, "MINDTORCH_NPU": "sim", "MINDTORCH_SIM_DEVICES": "2",
                   "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", TWO_DEVICES], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.stdout == "done\n", done.stderr


def test_one_device():
    module = nn.DataParallel(nn.Linear(3, 4))
    assert module.module.weight.device == mindtorch.device("npu:0")
    assert list(module.state_dict()) == list(oracle.nn.DataParallel(oracle.nn.Linear(3, 4)).state_dict())
    x = mindtorch.ones(2, 3)
    assert module(x).equal(module.module(x.npu()))
    assert module(input=x).equal(module(x))
    assert nn.parallel.data_parallel(module.module, x, [0]).equal(module(x))
    assert nn.DataParallel(nn.Linear(3, 4), dim=1)(x.npu()).shape == (2, 4)


def test_what_lies_elsewhere_is_refused():
    module = nn.DataParallel(nn.Linear(3, 4))
    module.module.bias = nn.Parameter(mindtorch.ones(4))
    with pytest.raises(RuntimeError, match=r"device npu:0 \(device_ids\[0\]\) but found one of them on device: cpu"):
        module(mindtorch.ones(2, 3))


def test_without_a_device_the_module_is_called_as_it_is(monkeypatch):
    monkeypatch.setattr(mindtorch.npu, "is_available", lambda: False)
    module = nn.DataParallel(nn.Linear(3, 4))
    assert (module.device_ids, module.module.weight.device.type) == ([], "cpu")
    assert module(mindtorch.ones(2, 3)).shape == (2, 4)


def test_scalars_become_a_vector():
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        assert nn.parallel.gather([mindtorch.ones(())] * 2, "cpu").tolist() == [1, 1]


def test_modules_and_inputs_must_be_as_many():
    with pytest.raises(AssertionError) as ours:
        nn.parallel.parallel_apply([nn.ReLU()], [])
    with pytest.raises(AssertionError) as theirs:
        oracle.nn.parallel.parallel_apply([oracle.nn.ReLU()], [])
    assert str(ours.value) == str(theirs.value)


def test_a_replica_is_made_by_the_module():
    """It has the module's attributes, and containers of its own; a lazy module has no replica."""
    answers = []
    for lib in (mindtorch, oracle):
        layer = lib.nn.BatchNorm1d(3)
        replica = layer._replicate_for_data_parallel()
        assert replica._buffers == layer._buffers
        assert replica._buffers is not layer._buffers
        replica.eval()
        with pytest.raises(RuntimeError) as error:
            lib.nn.LazyLinear(3)._replicate_for_data_parallel()
        answers.append((dict(replica._parameters), replica._is_replica, layer.training, replica.eps, str(error.value)))
    assert answers[0] == answers[1]
