"""rrelu in training: slopes by chance, which are the gradient too; torch's numbers are in tests/ops/test_random.py."""
import pytest
import torch

import mindtorch

NUMBERS = [1.0, -1.0, 0.0, -0.0, -2.5, 3.0, float("nan"), float("-inf"), -7.0]


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_slopes(dtype, inplace, device):
    leaf = mindtorch.tensor(NUMBERS, device=device).to(getattr(mindtorch, dtype)).requires_grad_()
    x = leaf * 1
    result = mindtorch.nn.functional.rrelu(x, 0.2, 0.6, True, inplace)
    assert (result is x) == inplace
    result.sum().backward()
    slopes = leaf.grad.tolist()
    for number, slope, value in zip(NUMBERS, slopes, result.tolist(), strict=True):
        assert 0.19 < slope < 0.61 if number <= 0 else slope == 1
        assert value == pytest.approx(number * slope, rel=1e-2, nan_ok=True)
    assert len(set(slopes)) > 4


def test_gradients():
    def call(x):
        mindtorch.manual_seed(4)
        return mindtorch.nn.functional.rrelu(x, training=True)
    x = mindtorch.randn(3, 5, dtype=mindtorch.float64, requires_grad=True)
    assert mindtorch.autograd.gradcheck(call, x)
    assert mindtorch.autograd.gradgradcheck(call, x)


def test_what_backward_keeps():
    x = mindtorch.randn(1 << 18, device="npu", requires_grad=True)
    before = mindtorch.npu.memory_allocated()
    result = mindtorch.nn.functional.rrelu(x, training=True)
    assert mindtorch.npu.memory_allocated() - before < 2 * result.nbytes + 4096      # the slopes, and the result


@pytest.mark.parametrize("bounds", [(0.5, 0.2), (float("nan"), 1), (-1, float("inf"))])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_refused(bounds, dtype):
    found = []
    for lib in (torch, mindtorch):
        with pytest.raises((RuntimeError, NotImplementedError)) as error:
            lib.nn.functional.rrelu(lib.ones(3, dtype=getattr(lib, dtype)), *bounds, training=True)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]
