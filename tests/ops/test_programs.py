"""Random programs of a few operators each: in torch, values and gradients agree; in NumPy, values."""
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


def functional(a):
    """nn.functional of the library that the tensor comes from."""
    return (mindtorch if isinstance(a, mindtorch.Tensor) else torch).nn.functional


def gathered(a, b):
    places = (b.detach() * 0).long() + 2
    return a + b.gather(1, places) - b.index_select(1, places[0])


def scattered(a, b):
    places = (b.detach()[:, :2] * 0).long() + 1
    return a.scatter_add(1, places, b[:, 1:3]) * 0.5


def masked(a, b):
    mask = functional(a).pad(b.detach()[:, 1:] * 0, (1, 0), value=1.0) > 0.5
    return a.masked_fill(mask, 0.25) + b[mask].mean()


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
    "cumsum": lambda a, b: a.cumsum(1) * 0.3 - b.cumsum(0) * 0.2, "logsumexp": lambda a, b: a - b.logsumexp(1, True),
    "prod": lambda a, b: a + b.tanh().prod(1, keepdim=True), "var": lambda a, b: a * 0.5 + b.var(1, keepdim=True) * 0.1,
    "roll": lambda a, b: a.roll(1, 1) + b.flip(0) * 0.5, "split": lambda a, b: a + sum(b.split(2, 1)).repeat(1, 2),
    "triangle": lambda a, b: a.tril() + b.triu(1), "gather": gathered, "scatter": scattered, "mask": masked,
    "gelu": lambda a, b: functional(a).gelu(a) + b, "layer_norm": lambda a, b: functional(a).layer_norm(a + b, (4,)),
    "pad": lambda a, b: functional(a).pad(a, (1, 1), mode="replicate")[:, :COLUMNS] - b,
    "conv1d": lambda a, b: functional(a).conv1d(a.unsqueeze(1), b[:1, :3].unsqueeze(0) * 0.2, padding=1).squeeze(1),
    "avg_pool1d": lambda a, b: functional(a).avg_pool1d(a.unsqueeze(1), 3, 1, 1).squeeze(1) + b,
    "attention": lambda a, b: functional(a).scaled_dot_product_attention(a[None], b[None], b[None])[0],
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


# The same in NumPy and by methods of tensors; x is the library, whose names for these agree.
IN_NUMPY = {
    "add": lambda x, a, b: x.add(a, b) * 0.5, "maximum": lambda x, a, b: x.maximum(a, b * 0.5),
    "hypot": lambda x, a, b: x.sqrt(a * a + b * b), "tanh": lambda x, a, b: x.tanh(a) - b, "minimum": lambda x, a, b:
    x.minimum(a, b), "clip": lambda x, a, b: x.clip(a, -1.0, 1.0) + b * 0.1,
    "cumsum": lambda x, a, b: x.cumsum(a, 1) * 0.3 - b, "matmul": lambda x, a, b: x.matmul(x.matmul(a, b.T) * 0.1, b),
    "sum": lambda x, a, b: a * 0.5 + x.sum(b, 0) * 0.1, "prod": lambda x, a, b: a + x.prod(x.tanh(b), 0),
    "exp2": lambda x, a, b: x.exp2(x.tanh(a)) - b,
    "roll": lambda x, a, b: x.roll(a, 1, 0) + x.flip(b, (0,)), "tril": lambda x, a, b: x.tril(a) + x.triu(b),
    "log1p": lambda x, a, b: x.log1p(x.abs(a)) * b, "square": lambda x, a, b: x.square(x.tanh(a)) - b,
}


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=st.lists(st.tuples(st.sampled_from(sorted(IN_NUMPY)), st.integers(0, 8), st.integers(0, 8)), min_size=1,
                        max_size=8), seed=st.integers(0, 1000))
def test_random_programs_in_numpy(device, program, seed):
    values = [numpy.random.default_rng([seed, i]).standard_normal((ROWS, COLUMNS)).astype("float32") for i in range(2)]
    arrays, tensors = list(values), [mindtorch.tensor(v, device=device) for v in values]
    for name, first, second in program:
        for lib, kept in ((numpy, arrays), (mindtorch, tensors)):
            kept.append(IN_NUMPY[name](lib, kept[first % len(kept)], kept[second % len(kept)]))
    numpy.testing.assert_allclose(tensors[-1].cpu().numpy(), arrays[-1], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_each_step(device, name):
    """Every step alone, so that a failing program points at its operator."""
    values = [numpy.linspace(-2, 2, ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS) * sign for sign in (1, -1)]
    for theirs, ours in zip(run([(name, 0, 1)], values, torch, "cpu"), run([(name, 0, 1)], values, mindtorch, device),
                            strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
