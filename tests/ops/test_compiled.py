"""Rows of the CPU with a compiled kernel: which calls run it, and which run the NumPy expression."""
import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl

import mindtorch as torch
from mindtorch._cpu.kernels import basic, conv_pool, loss, nn, norm

F = torch.nn.functional


class Ran(Exception):
    """The NumPy expression has run."""


def raise_ran(*_):
    raise Ran


def rand(*shape, dtype=torch.float32):
    return torch.rand(*shape).to(dtype)


# The function of mindtorch/_cpu/kernels that the row's expression calls, and the call.
COMPILED = [
    (norm, "layer_norm", lambda: F.layer_norm(rand(2, 3), (3,))),
    (norm, "layer_norm", lambda: F.layer_norm(rand(2, 3, dtype=torch.bfloat16), (3,))),
    (norm, "layer_norm", lambda: F.layer_norm(rand(3, 2).t(), (3,))),
    (norm, "layer_norm", lambda: F.layer_norm(rand(0, 3), (3,))),
    (basic, "softmax", lambda: rand(3).softmax(0)),
    (nn, "gelu", lambda: F.gelu(rand(3))),
    (nn, "gelu", lambda: F.gelu(rand(3), approximate="tanh")),
    (conv_pool, "convolution", lambda: F.conv2d(rand(1, 4, 5, 5), rand(4, 2, 3, 3), groups=2)),
    (loss, "embedding", lambda: F.embedding(torch.tensor([1]), rand(2, 3))),
]
NUMPY = [
    (norm, "layer_norm", lambda: F.layer_norm(rand(2, 3, dtype=torch.float64), (3,))),
    (norm, "layer_norm", lambda: F.layer_norm(rand(*[1] * 8, 3), (3,))),                # more than 8 dimensions
    (basic, "softmax", lambda: rand(3, dtype=torch.float64).softmax(0)),
    (nn, "gelu", lambda: F.gelu(rand(3, dtype=torch.float64))),
    (conv_pool, "convolution", lambda: F.conv2d(rand(1, 1, 3, 3, dtype=torch.float64),
                                                rand(1, 1, 2, 2, dtype=torch.float64))),
    (loss, "embedding", lambda: F.embedding(torch.tensor([1]), rand(2, 3, dtype=torch.float64))),
]


@pytest.mark.parametrize(("module", "name", "call"), COMPILED)
def test_compiled_kernels_run(monkeypatch, module, name, call):
    monkeypatch.setattr(module, name, raise_ran)
    call()


@pytest.mark.parametrize(("module", "name", "call"), NUMPY)
def test_numpy_runs_for_other_dtypes_and_ranks(monkeypatch, module, name, call):
    call()
    monkeypatch.setattr(module, name, raise_ran)
    with pytest.raises(Ran):
        call()


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: F.embedding(torch.tensor([2]), rand(2, 3)), IndexError, "index out of range in self"),
    (lambda: rand(3).gather(0, torch.tensor([3])), RuntimeError, "index 3 is out of bounds"),
    (lambda: F.nll_loss(rand(1, 3), torch.tensor([3])), IndexError, "Target 3 is out of bounds"),
])
def test_refused_elements_raise_the_error_of_torch(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_few_positions_share_a_product():
    """A convolution multiplies several samples at once where each has few positions."""
    images, weight = rand(5, 3, 4, 4).requires_grad_(), rand(6, 3, 3, 3).requires_grad_()
    together = F.conv2d(images, weight, padding=1)
    alone = torch.cat([F.conv2d(image[None], weight, padding=1) for image in images])
    torch.testing.assert_close(together, alone)
    grad = rand(5, 6, 4, 4)
    for ours, theirs in zip(torch.autograd.grad(together, (images, weight), grad),
                            torch.autograd.grad(alone, (images, weight), grad), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_gelu_far_below_zero_is_exact():
    x = torch.tensor([-2.0, -3.0, -4.0, -5.6, -6.0, -8.0, -10.0, -12.5])
    exact = F.gelu(x.double())
    assert ((F.gelu(x) - exact) / exact)[:3].abs().max() < 1e-6
    assert ((F.gelu(x) - exact) / exact).abs().max() < 1e-3
    assert F.gelu(torch.tensor([-20.0, -1e30, 20.0])).tolist() == [0, 0, 20]


def test_threads_of_the_kernels():
    rand(4, 4) @ rand(4, 4)             # loads their BLAS
    before = torch.get_num_threads()
    try:
        for count in (2, 1):
            torch.set_num_threads(count)
            blas = [info for info in threadpoolctl.threadpool_info()      # NumPy's and the kernels', not SciPy's own
                    if "numpy.libs" in info["filepath"] or "scipy_openblas32" in info["filepath"]]
            assert len(blas) >= 2
            assert {info["num_threads"] for info in blas} == {count}
    finally:
        torch.set_num_threads(before)


def test_no_device_is_needed():
    code = """
import mindtorch as torch
torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
maps = open("/proc/self/maps").read()
print("libmindtorch_kernels" in maps, "libascendcl" in maps, torch.npu.is_available())
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"MINDTORCH_NPU": "off"}, check=True,
                          capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "False"]


def test_a_fork_waits_for_products_of_other_threads():
    """float64 is NumPy's, whose BLAS would wait for ever for threads that the fork ends."""
    code = """
import os, signal, threading
import mindtorch
a, stop = mindtorch.ones(200, 200, dtype=mindtorch.float64), threading.Event()
def multiply():
    while not stop.is_set():
        a @ a
threads = [threading.Thread(target=multiply) for _ in range(2)]
for thread in threads:
    thread.start()
codes = set()
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (a @ a)[0, 0].item() == 200 else 1)
    codes.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(codes)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True,
                          env=os.environ | {"MINDTORCH_NPU": "off", "OPENBLAS_NUM_THREADS": "2"}, timeout=300)
    assert done.stdout == "{0}\n"


def test_a_forked_child_computes():
    a = rand(64, 64)
    expected = a.numpy() @ a.numpy()
    a @ a                               # the kernels' BLAS has its threads
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.allclose((a @ a).numpy(), expected, rtol=1e-4) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
