"""Tensor.share_memory_: memory that processes write to together."""
import pytest

import mindtorch
import mindtorch.multiprocessing as mp
from mindtorch import nn

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

# name -> the tensor that is shared, and a tensor that sees the same memory
VIEWS = {
    "alone": lambda t: (t, t), "view is shared": lambda t: (t[1:], t), "base is shared": lambda t: (t, t[1:]),
    "data": lambda t: (t.data, t), "float64": lambda t: (t.double(),) * 2, "empty": lambda t: (t[:0].clone(),) * 2,
    "array": lambda t: (mindtorch.from_numpy(t.numpy().copy()),) * 2,
}


def add_one(tensor):
    with mindtorch.no_grad():
        tensor.add_(1)


def in_another(method, *arguments):
    process = mp.get_context(method).Process(target=add_one, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


@pytest.mark.parametrize("name", VIEWS)
def test_views_follow(name):
    shared, seen = VIEWS[name](mindtorch.arange(4.0))
    before = shared.clone()
    assert not shared.is_shared()
    assert shared.share_memory_() is shared
    assert shared.is_shared()
    assert seen.is_shared()
    assert shared.equal(before)
    in_another("fork", shared)
    assert shared.equal(before + 1)
    seen.zero_()
    assert not shared[-1:].any()


def test_memory_that_others_may_know_stays():
    tensor = mindtorch.arange(3.0)
    array = tensor.numpy()
    tensor.share_memory_().add_(1)
    assert array.tolist() == [0, 1, 2]
    assert tensor.tolist() == [1, 2, 3]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_arguments_of_processes(method):
    tensor = mindtorch.zeros(2, 3).share_memory_()
    in_another(method, tensor.t()[1:])
    assert tensor.tolist() == [[0, 1, 1], [0, 1, 1]]


def test_a_queue_hands_on_the_memory():
    queue, tensor = mp.get_context("fork").SimpleQueue(), nn.Parameter(mindtorch.zeros(2))
    tensor.share_memory_()
    queue.put(tensor)
    came = queue.get()
    add_one(came)
    assert isinstance(came, nn.Parameter)
    assert came.is_shared()
    assert tensor.tolist() == [1, 1]


def test_a_saved_tensor_is_not_changed_by_moving():
    tensor = mindtorch.ones(2, requires_grad=True)
    product = (tensor * tensor).sum()
    tensor.share_memory_()
    product.backward()
    assert tensor.grad.tolist() == [2, 2]
    product = (tensor * tensor).sum()
    add_one(tensor)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_modules():
    module = nn.BatchNorm1d(2)
    module(mindtorch.ones(3, 2)).sum().backward()
    assert module.share_memory() is module
    assert all(t.is_shared() for t in (*module.parameters(), *module.buffers(), module.weight.grad))
    in_another("fork", module.weight)
    assert module.weight.tolist() == [2, 2]


def test_on_an_npu_it_is_shared_already():
    tensor = mindtorch.ones(2, device="npu")
    assert tensor.share_memory_() is tensor


def test_sums_of_adagrad():
    """As programs share an optimizer among processes that train one model (Hogwild)."""
    optimizer = mindtorch.optim.Adagrad([nn.Parameter(mindtorch.ones(3))], initial_accumulator_value=1)
    optimizer.share_memory()
    total = optimizer.state[optimizer.param_groups[0]["params"][0]]["sum"]
    assert total.is_shared()
    in_another("fork", total)
    assert total.tolist() == [2, 2, 2]
