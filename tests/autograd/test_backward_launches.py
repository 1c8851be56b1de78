"""What backward launches on the NPU: no copies of gradients that nobody else holds, no products with 1."""
import pytest

import mindtorch as torch
from mindtorch import sim


def launched(run):
    """Operators of ACLNN -> how often `run` launches them."""
    run()
    with sim.counting() as counts:
        run()
    return {name.removeprefix("aclnn"): n for name, n in counts.items() if n and f"{name}GetWorkspaceSize" in counts}


@pytest.mark.parametrize(("call", "expected"), [
    (lambda x, w, b: x.mm(w), {"Mm": 1}),
    (lambda x, w, b: x @ w, {"Mm": 1}),
    (lambda x, w, b: x @ w.t(), {"Mm": 1}),
    (torch.nn.functional.linear, {"Mm": 1, "ReduceSum": 1}),
    (lambda x, w, b: torch.addmm(b, x, w, alpha=2), {"Mm": 1, "Muls": 1, "ReduceSum": 1}),
    (lambda x, w, b: x + b, {"ReduceSum": 1}),
    (lambda x, w, b: x - b, {"Neg": 1, "ReduceSum": 1}),
    (lambda x, w, b: torch.add(x, b, alpha=3), {"Muls": 1, "ReduceSum": 1}),
    (lambda x, w, b: x * w, {"Mul": 1}),
])
def test_backward(call, expected):
    x, w = torch.ones(4, 4, device="npu"), torch.ones(4, 4, device="npu", requires_grad=True)
    b = torch.ones(4, device="npu", requires_grad=True)
    grad = torch.ones(4, 4, device="npu")
    results = [call(x, w, b) for _ in range(2)]

    def backward():
        w.grad = b.grad = None
        results.pop().backward(grad)
    assert launched(backward) == expected


def test_a_gradient_that_somebody_holds_is_copied(device):
    w, held = torch.ones(4, device=device, requires_grad=True), []
    w.register_hook(held.append)
    (w * 2).backward(torch.ones(4, device=device))
    held[0].zero_()
    assert w.grad.tolist() == [2, 2, 2, 2]


def test_the_gradient_given_is_not_taken(device):
    w, grad = torch.ones(4, device=device, requires_grad=True), torch.ones(4, device=device)
    (w + 0).backward(grad)
    grad.zero_()
    assert w.grad.tolist() == [1, 1, 1, 1]


def test_two_leaves_of_one_gradient_do_not_share_it(device):
    a, b = (torch.zeros(4, device=device, requires_grad=True) for _ in range(2))
    (a + b).mul(1).backward(torch.ones(4, device=device))
    a.grad.add_(1)
    b.grad.add_(2)
    assert (a.grad.tolist(), b.grad.tolist()) == ([2] * 4, [3] * 4)


def test_a_gradient_is_not_the_memory_of_what_was_saved(device):
    """d(w * x) / dw is x times 1; where that were x itself, a step would overwrite it."""
    w, x = torch.ones(4, device=device, requires_grad=True), torch.full((4,), 3.0, device=device)
    for result in (torch.where(x > 0, w, x), w.masked_fill(x < 0, 0), w * x):
        w.grad = None
        result.sum().backward()
        w.grad.zero_()
        assert x.tolist() == [3] * 4
