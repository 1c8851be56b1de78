"""Tensors through the queues and pipes of torch.multiprocessing."""
import os

import pytest

import mindtorch
import mindtorch.multiprocessing as mp
from mindtorch.nn import Parameter

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
LARGE = 1 << 15

# name -> (tensor, whether it comes back in shared memory: what came from another process goes on by value)
TENSORS = {
    "large": (lambda: mindtorch.arange(LARGE), True), "small": (lambda: mindtorch.arange(3), False),
    "empty": (lambda: mindtorch.zeros(0, 3), False), "bfloat16": (lambda: mindtorch.ones(LARGE).bfloat16(), True),
    "turned": (lambda: mindtorch.arange(2.0 * LARGE).view(2, LARGE).t(), True),
    "expanded": (lambda: mindtorch.ones(1).expand(LARGE), True),
    "gradient": (lambda: mindtorch.ones(LARGE, requires_grad=True), True),
    "parameter": (lambda: Parameter(mindtorch.ones(LARGE)), True),
    "frozen": (lambda: Parameter(mindtorch.ones(2), requires_grad=False), False),
}


def echo(connection):
    """Answers each tensor with itself and its sum, until None comes."""
    while (tensor := connection.recv()) is not None:
        total = tensor.detach().double().sum().item()
        shared = tensor.is_shared()
        connection.send((tensor, total, shared, type(tensor).__name__))


@pytest.fixture(scope="module")
def other():
    """A connection to a process that echoes."""
    here, there = mp.get_context("fork").Pipe()
    process = mp.get_context("fork").Process(target=echo, args=(there,), daemon=True)
    process.start()
    there.close()
    yield here
    here.send(None)
    process.join()


@pytest.mark.parametrize("name", TENSORS)
def test_there_and_back(other, name):
    make, is_shared = TENSORS[name]
    sent = make()
    other.send(sent)
    assert sent.is_shared() == bool(sent.numel())
    came, total, was_shared, kind = other.recv()
    assert type(came) is type(sent)
    assert kind == type(sent).__name__
    assert (came.dtype, came.shape, came.requires_grad) == (sent.dtype, sent.shape, sent.requires_grad)
    assert came.eq(sent).all()
    assert total == sent.detach().double().sum().item()
    assert was_shared == sent.is_shared()
    assert came.is_shared() == is_shared


def test_many_leave_no_descriptor(other):
    before = len(os.listdir("/proc/self/fd"))
    kept = []
    for number in range(100):
        other.send(mindtorch.full((LARGE,), float(number)))
        kept.append(other.recv()[0])
    assert [tensor[-1].item() for tensor in kept] == list(range(100))
    assert len(os.listdir("/proc/self/fd")) - before <= 70      # files that are kept to be used again: 64


def test_a_history_is_refused(other):
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        other.send(mindtorch.ones(2, requires_grad=True) * 2)


def double(index, tensor, queue):
    queue.put((tensor.shape, (tensor[:3] * 2 + index).tolist()))
    tensor[-1] = -1


def test_processes_that_are_spawned():
    """They may compute with what they are started with before anything else, and write to it."""
    queue = mp.get_context("spawn").SimpleQueue()
    sent = mindtorch.arange(float(LARGE))
    mp.spawn(double, (sent, queue), nprocs=1)
    shape, came = queue.get()
    assert shape == (LARGE,)
    assert came == [0, 2, 4]
    assert sent[-1] == -1


def fill(queue, done):
    whole, column = queue.get()
    whole[:] = 4
    column[0] = 5
    done.put(None)


def test_receivers_write_to_the_senders_memory():
    context = mp.get_context("fork")
    queue, done = context.Queue(), context.Queue()
    sent = mindtorch.zeros(3, 2)
    view = sent[:, 1]
    queue.put([sent, view])
    process = context.Process(target=fill, args=(queue, done))
    process.start()
    done.get(timeout=60)
    process.join()
    assert sent.tolist() == [[4, 5], [4, 4], [4, 4]]
    assert view.tolist() == [5, 4, 4]
    sent[2, 1] = 7
    assert view[2] == 7
