"""Random programs of a few operators each, in mindtorch on both devices and in torch: values and gradients agree."""
import numpy
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mindtorch

ROWS, COLUMNS = 3, 4


def matrix_product(a, b):
    return (a @ b.t() / COLUMNS) @ b


def filled_diagonal(a, b):
    c = a * 1
    c[:, 1:3] = b[:, :2]
    return c


def written_view(a, b):
    c = a + b
    c.view(-1)[2:9].mul_(0.5)
    return c


# Each takes two (ROWS, COLUMNS) tensors and gives one. They neither explode nor jump, so that small errors stay small.
STEPS = {
    "add": lambda a, b: a + b * 0.5, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b.tanh(),
    "div": lambda a, b: a / (b.abs() + 1), "neg": lambda a, b: -a, "exp": lambda a, b: (a * 0.1).exp() - b,
    "sigmoid": lambda a, b: a.sigmoid() + b, "sqrt": lambda a, b: (a * a + 1).sqrt() * b.sigmoid(),
    "softmax": lambda a, b: a.softmax(1) - b.softmax(0), "log_softmax": lambda a, b: (a * 0.3).log_softmax(1) + b,
    "mean": lambda a, b: a - b.mean(0), "sum": lambda a, b: a * 0.1 + b.sum(1, keepdim=True) * 0.1,
    "matmul": matrix_product, "transpose": lambda a, b: (a.t() + b.t()).t(),
    "reshape": lambda a, b: a.reshape(ROWS, 2, 2).transpose(1, 2).reshape(ROWS, COLUMNS) + b,
    "expand": lambda a, b: a + b[1:2].expand(ROWS, COLUMNS), "strided": lambda a, b: a + b[:, ::2].sum(1, keepdim=True),
    "write": filled_diagonal, "write view": written_view, "pow": lambda a, b: (a.abs() + 0.5) ** 1.5 * 0.3 + b,
    "clone": lambda a, b: a.clone().mul_(b.sigmoid()), "unbind": lambda a, b: a + b.unbind(0)[1] * 0.5,
}


def run(program, values, lib, device):
    """The last result of a program, and the gradients of its inputs."""
    leaves = [lib.tensor(v, device=device, requires_grad=True) for v in values]
    tensors = list(leaves)
    for name, first, second in program:
        tensors.append(STEPS[name](tensors[first % len(tensors)], tensors[second % len(tensors)]))
    loss = sum((t * t).mean() for t in tensors[-2:])
    loss.backward()
    return [t.detach().cpu().numpy() for t in (tensors[-1], *(leaf.grad for leaf in leaves if leaf.grad is not None))]


PROGRAMS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 8), st.integers(0, 8)),
                    min_size=1, max_size=8)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAMS, seed=st.integers(0, 1000))
def test_random_programs(device, program, seed):
    generator = numpy.random.default_rng(seed)
    values = [generator.standard_normal((ROWS, COLUMNS)).astype("float32") for _ in range(2)]
    expected = run(program, values, torch, "cpu")
    found = run(program, values, mindtorch, device)
    assert len(expected) == len(found)
    for theirs, ours in zip(expected, found, strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_each_step(device, name):
    """Every step alone, so that a failing program points at its operator."""
    values = [numpy.linspace(-2, 2, ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS) * sign for sign in (1, -1)]
    for theirs, ours in zip(run([(name, 0, 1)], values, torch, "cpu"), run([(name, 0, 1)], values, mindtorch, device),
                            strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
