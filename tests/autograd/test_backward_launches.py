"""What backward launches on the NPU: no copies of gradients that nobody else holds, no products with 1."""
import pytest

import mindtorch as torch
from mindtorch import sim


def launched(run):
    """Operators of ACLNN -> how often `run` launches them."""
    run()
    with sim.counting() as counts:
        run()
    return {name.removeprefix("aclnn"): n for name, n in counts.operators().items()}


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


# An expression of x (2, 4), chances p, classes i and j: the operators that it launches, and those of its derivative.
ONE_EACH = {
    "F.mse_loss(x, p)": ("MseLoss", "MseLossBackward"),
    "F.l1_loss(x, p)": ("L1Loss", "L1LossBackward"),
    "F.smooth_l1_loss(x, p)": ("SmoothL1Loss", "SmoothL1LossBackward"),
    "F.soft_margin_loss(x, p)": ("SoftMarginLoss", "SoftMarginLossBackward"),
    "F.binary_cross_entropy(x, p)": ("BinaryCrossEntropy", "BinaryCrossEntropyBackward"),
    "F.binary_cross_entropy_with_logits(x, p)": (
        "BinaryCrossEntropyWithLogits", "BinaryCrossEntropyWithLogitsBackward"),
    "F.kl_div(x, p, reduction='sum')": ("KlDiv", "KlDivBackward"),
    "F.cross_entropy(x, i)": ("LogSoftmax NLLLoss", "NLLLossBackward LogSoftmaxBackward"),
    "F.cross_entropy(x.view(1, 2, 2, 2), j.view(1, 2, 2))": (
        "LogSoftmax NLLLoss2d", "NLLLoss2dBackward LogSoftmaxBackward"),
    "F.cross_entropy(x.view(1, 2, 4), j)": ("LogSoftmax NLLLoss2d", "NLLLoss2dBackward LogSoftmaxBackward"),
    "F.glu(x)": ("Glu", "GluBackward"),
    "F.prelu(x, w)": ("Prelu", "PreluBackward"),
    "F.prelu(x.view(1, 2, 4), w[:2])": ("Prelu", "PreluBackward"),
    "F.celu(x)": ("Celu", "EluBackward"),
    "F.selu(x)": ("Elu", "EluBackward"),
    "F.elu(x)": ("Elu", "EluBackward"),
    "F.logsigmoid(x)": ("LogSigmoid", "LogSigmoidBackward"),
    "torch.logit(x)": ("Logit", "LogitGrad"),
    "F.gelu(x)": ("Gelu", "GeluBackward"),
    "F.gelu(x, approximate='tanh')": ("GeluV2", "GeluBackwardV2"),
    "F.silu(x)": ("Silu", "SiluBackward"),
    "F.mish(x)": ("Mish", "MishBackward"),
    "F.softplus(x)": ("Softplus", "SoftplusBackward"),
    "F.hardswish(x)": ("Hardswish", "HardswishBackward"),
    "F.threshold(x, 0.5, 1)": ("Threshold", "ThresholdBackward"),
    "F.softmax(x, 1)": ("Softmax", "SoftmaxBackward"),
    "F.log_softmax(x, 1)": ("LogSoftmax", "LogSoftmaxBackward"),
}


@pytest.mark.parametrize(("expression", "forward", "backward"), [(e, *both) for e, both in ONE_EACH.items()])
def test_one_operator_each_way(expression, forward, backward):
    x = torch.full((2, 4), 0.25, device="npu", requires_grad=True)
    names = {"x": x, "p": torch.full((2, 4), 0.5, device="npu"), "i": torch.tensor([1, 0], device="npu"),
             "j": torch.tensor([[1, 0, 1, 0]], device="npu"), "w": torch.full((4,), 0.5, device="npu"),
             "F": torch.nn.functional, "torch": torch}
    run = eval(f"lambda: {expression}", names)
    assert launched(run) == dict.fromkeys(forward.split(), 1)
    results = [run() for _ in range(2)]
    grad = torch.ones_like(results[0])

    def differentiate():
        x.grad = None
        results.pop().backward(grad)
    assert launched(differentiate) == dict.fromkeys(backward.split(), 1)


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
