"""What graphs keep alive and for how long, deep graphs, threads, streams, and calls that fail half-way."""
import gc
import threading
import weakref

import numpy as np
import pytest

import mindtorch
from mindtorch import npu


def leaf(device, *shape, value=1.0):
    return mindtorch.full(shape, value, device=device, requires_grad=True)


def watched(tensor, alive):
    """Counts the tensor among the living."""
    weakref.finalize(tensor, alive.remove, id(tensor))
    alive.append(id(tensor))
    return tensor


@pytest.fixture
def no_collector():
    """Only reference counts free anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_graph_dies_with_its_result(device):
    alive = []
    a = leaf(device, 3)
    hidden = watched(a * 2, alive)
    y = (hidden.exp() * hidden).sum()
    del hidden
    assert alive
    del y
    assert not alive


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("operator", ["exp", "sigmoid", "tanh", "sqrt", "relu", "softmax"])
def test_a_saved_result_makes_no_cycle(device, operator):
    alive = []
    y = leaf(device, 3) * 2
    y = watched(getattr(y, operator)(*((0,) if operator == "softmax" else ())), alive)
    del y
    assert not alive


@pytest.mark.usefixtures("no_collector")
def test_saved_tensors_are_freed_by_backward(device):
    alive = []
    a = leaf(device, 3)
    hidden = watched(a * 2, alive)
    y = (hidden * hidden).sum()
    del hidden
    y.backward(retain_graph=True)
    assert alive
    y.backward()
    assert not alive
    assert y.grad_fn is not None


@pytest.mark.usefixtures("no_collector")
def test_views_and_in_place_make_no_cycle(device):
    alive = []
    y = watched(leaf(device, 4, 3) * 2, alive)
    v = watched(y[1:], alive)
    v.mul_(3)
    y.t()[0].add_(1)
    (y.sum() + v.sum()).backward()
    del y, v
    assert not alive


@pytest.mark.usefixtures("no_collector")
def test_leaf_dies_with_its_gradient(device):
    alive = []
    a = watched(leaf(device, 3), alive)
    (a * 2).sum().backward()
    watched(a.grad, alive)
    del a
    assert not alive


def test_cycles_through_create_graph_are_collected(device):
    alive = []
    a = watched(leaf(device, 3), alive)
    with pytest.warns(UserWarning, match="reference cycle"):
        (a ** 3).sum().backward(create_graph=True)
    del a
    gc.collect()
    assert not alive


def test_hundred_thousand_nodes(device):
    a = leaf(device, 1)
    y = a
    for _ in range(100_000):
        y = y + a
    y.sum().backward(retain_graph=True)
    assert a.grad.item() == 100_001
    found, = mindtorch.autograd.grad(y.sum(), a)
    assert found.item() == 100_001
    del y


def test_deep_graph_that_is_never_followed(device):
    y = leaf(device, 1)
    for _ in range(100_000):
        y = y.view(1) * 1
    del y


def test_deep_chain_of_in_place_operators(device):
    y = leaf(device, 2) * 1
    v = y[0]
    for _ in range(20_000):
        v.add_(1)
    y.sum().backward()
    del y, v


def test_deep_chain_of_functions(device):
    class Double(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad
    a = leaf(device, 1)
    y = a
    for _ in range(20_000):
        y = Double.apply(y)
    y.sum().backward()
    assert a.grad.item() == 1
    del y


def test_diamonds_are_followed_once(device):
    a = leaf(device, 1)
    y = a
    for _ in range(200):             # 2 ** 200 paths
        y = (y + y) * 0.5
    y.sum().backward()
    assert a.grad.item() == 1


def in_threads(count, work):
    """Run work(number) in threads at once; the first error is raised."""
    failed, start = [], threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:      # noqa: BLE001 - raised below
            failed.append(error)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def test_threads_share_leaves(device):
    a, b = leaf(device, 50), leaf(device, 50, value=2.0)

    def work(number):
        for _ in range(20):
            (a * b).sum().backward()
    in_threads(8, work)
    np.testing.assert_allclose(a.grad.cpu().numpy(), np.full(50, 2.0 * 160))
    np.testing.assert_allclose(b.grad.cpu().numpy(), np.full(50, 160.0))


def test_threads_share_a_graph(device):
    a = leaf(device, 5)
    y = (a.exp() * a).sum()
    in_threads(8, lambda number: y.backward(retain_graph=True))
    np.testing.assert_allclose(a.grad.cpu().numpy(), np.full(5, 8 * 2 * np.e), rtol=1e-5)


def test_graph_of_another_thread(device):
    made = []
    a = leaf(device, 5)
    in_threads(1, lambda number: made.append((a * 3).sum()))
    made[0].backward()
    assert a.grad.tolist() == [3.0] * 5


def test_modes_are_of_the_thread():
    seen = []
    with mindtorch.no_grad():
        in_threads(1, lambda number: seen.append(mindtorch.is_grad_enabled()))
    assert seen == [True]


def test_backward_inside_backward_deeply(device):
    class Nested(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth:
                with mindtorch.enable_grad():
                    inner = leaf(device, 1)
                    Nested.apply(inner, ctx.depth - 1).sum().backward()
                return grad + inner.grad, None
            return grad, None
    a = leaf(device, 1)
    Nested.apply(a, 50).sum().backward()
    assert a.grad.item() == 51


def test_failed_backward_can_be_repeated(device):
    calls = []

    class Fails(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            calls.append(1)
            if len(calls) == 1:
                raise ValueError("the first time")
            return grad * 2
    a, b = leaf(device, 2), leaf(device, 2)
    y = (Fails.apply(a) * b).sum()
    with pytest.raises(ValueError, match="the first time"):
        y.backward(retain_graph=True)
    assert mindtorch.is_grad_enabled()
    assert a.grad is None
    b.grad = None
    y.backward()
    assert a.grad.tolist() == [2.0, 2.0]
    assert b.grad.tolist() == [2.0, 2.0]


def test_gradients_stay_on_the_npu():
    a = leaf("npu", 3, 3)
    (a @ a).softmax(0).sum().backward()
    assert a.grad.device.type == "npu"


def test_gradient_through_copies_between_devices():
    a = leaf("cpu", 3)
    b = (a.to("npu") * 2).cpu() * a
    b.sum().backward()
    assert a.grad.device.type == "cpu"
    assert a.grad.tolist() == [4.0] * 3


def test_backward_on_the_streams_of_forward():
    one, other = npu.Stream(), npu.Stream()
    seen = []

    class Seen(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(npu.current_stream())
            return grad * 1
    a = leaf("npu", 64, 64, value=0.01)
    before = npu.current_stream()
    one.wait_stream(before)
    with npu.stream(one):
        b = Seen.apply(a @ a)
    other.wait_stream(one)
    with npu.stream(other):
        c = Seen.apply(b @ a)
    before.wait_stream(other)
    (c.sum() + b.sum()).backward()
    assert seen == [other, one]
    assert npu.current_stream() == before
    expected = leaf("cpu", 64, 64, value=0.01)
    square = expected @ expected
    ((square @ expected).sum() + square.sum()).backward()
    np.testing.assert_allclose(a.grad.cpu().numpy(), expected.grad.numpy(), rtol=1e-4)


def test_backward_started_on_another_stream():
    stream = npu.Stream()
    a = leaf("npu", 64, 64, value=0.01)
    y = (a @ a).sum()
    stream.wait_stream(npu.current_stream())
    with npu.stream(stream):
        y.backward()
        total = a.grad.sum()
        assert npu.current_stream() == stream
        assert abs(total.item() - 64 * 64 * 1.28) < 0.1
