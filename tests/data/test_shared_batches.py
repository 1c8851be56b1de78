"""Batches in shared memory: whose it is, when it is used again, that nothing of it stays; the thread that pins them."""
import gc
import multiprocessing
import os
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from loading import Trouble, unchanged

import mindtorch
from mindtorch._cpu import backend
from mindtorch.utils.data import DataLoader
from mindtorch.utils.data._utils import transport

pytestmark = [pytest.mark.one_mode,
              pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")]
SIZE = 1 << 18


class Large:
    """Samples whose batches travel in shared memory, tensors and arrays."""

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return mindtorch.full((SIZE,), float(i)), np.full(SIZE, i, np.int32), i


class Stubborn:
    def pin_memory(self):
        raise ValueError("will not be pinned")


class Wrapped:
    """Samples that pass themselves on, to be pinned in ways of their own."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return Stubborn() if i == 1 else mindtorch.ones(2)


def open_and_mapped():
    """What this process has open and maps, beside the NPU's own files."""
    gc.collect()
    links = [os.readlink(f"/proc/self/fd/{fd}") if os.path.exists(f"/proc/self/fd/{fd}") else "memory"
             for fd in os.listdir("/proc/self/fd")]
    kinds = ("socket", "pipe", "mindtorch-shared")
    return sum(any(kind in link for kind in kinds) for link in links), mapped_bytes()


def mapped_bytes():
    """Bytes of shared memory that this process maps."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        ranges = [line.split()[0].split("-") for line in maps if "memfd:mindtorch-shared" in line]
    return sum(int(end, 16) - int(start, 16) for start, end in ranges)


@pytest.fixture
def nothing_stays():
    list(DataLoader(range(1), num_workers=1))
    before = open_and_mapped()
    yield
    assert open_and_mapped() == before


def attached(tensor):
    array = tensor.numpy()
    descriptor = backend.descriptor_of(array.base, array.ctypes.data, array.nbytes)
    return backend.attach(descriptor, array.nbytes)


@pytest.mark.quick
def test_memory_is_used_again_when_nobody_uses_it():
    ours = backend.allocate_shared(SIZE)
    place = ours.data_ptr()
    theirs = attached(ours)
    ours[:] = 7
    assert theirs.is_shared()
    assert theirs.data_ptr() != place
    assert theirs.eq(7).all()
    view = theirs[3:]
    del ours, theirs
    assert backend.allocate_shared(SIZE).data_ptr() != place
    del view
    assert backend.allocate_shared(SIZE - 5).data_ptr() == place


@pytest.mark.quick
def test_memory_that_a_fork_has_doubled_is_not_used_again():
    ours = backend.allocate_shared(SIZE)
    theirs = attached(ours)
    place = ours.data_ptr()
    process = multiprocessing.get_context("fork").Process(target=theirs.sum)
    process.start()
    process.join()
    del ours, theirs, process
    assert backend.allocate_shared(SIZE).data_ptr() != place


@pytest.mark.quick
def test_unused_memory_is_not_hoarded():
    large = [backend.allocate_shared(40 << 20) for _ in range(3)]
    assert mapped_bytes() >= 120 << 20
    del large
    backend.allocate_shared(1 << 20)
    assert mapped_bytes() < 64 << 20


@pytest.mark.quick
def test_only_whole_shared_memory_can_be_lent():
    ours = backend.allocate_shared(SIZE)
    for array in (ours.numpy()[1:], np.zeros(3, np.uint8), mindtorch.zeros(3).numpy(), attached(ours).numpy()):
        assert backend.descriptor_of(array.base, array.ctypes.data, array.nbytes) == -1
    assert not mindtorch.ones(2).is_shared()
    read, write = os.pipe()
    with pytest.raises((ValueError, OSError)):
        backend.attach(read, 10)
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("collate", [None, unchanged])
def test_batches_keep_what_was_in_them(nothing_stays, collate):
    batches = list(DataLoader(Large(), 4, num_workers=2, collate_fn=collate))
    if collate is None:
        assert all(batch[0].is_shared() and batch[1].is_shared() for batch in batches)
    rows = [row for batch in batches for row in (batch if collate else zip(*batch, strict=True))]
    for i, (tensor, array, number) in enumerate(rows):
        assert tensor.eq(i).all()
        assert (np.asarray(array) == i).all()
        assert number == i


def mapped_files():
    """The numbers of the files of shared memory that this process maps."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return {line.split()[4] for line in maps if "memfd:mindtorch-shared" in line}


def test_the_memory_goes_round(nothing_stays):
    """Of 24 batches that are dropped the parent maps two at most, and the worker makes no more than are under way."""
    before, earlier, files = mapped_bytes(), mapped_files(), set()
    for tensor, array, _ in DataLoader(Large(), 1, num_workers=1):
        assert tensor[0, 0].item() == array[0, 0].item()
        assert mapped_bytes() - before <= 4 * 5 * SIZE
        files |= mapped_files()
    assert len(files - earlier) < 24


def test_a_tensor_that_is_sent_twice_stays_the_same(nothing_stays):
    """What the worker still holds is not used for other batches, however often the parent has dropped it."""
    class Same:
        def __init__(self):
            self.first = None

        def __call__(self, samples):
            batch = mindtorch.utils.data.default_collate(samples)
            self.first = batch if self.first is None else self.first
            return [self.first[0], batch[0]]

    for first, _ in DataLoader(Large(), 2, num_workers=1, collate_fn=Same(), prefetch_factor=1):
        assert first[0].eq(0).all()
        assert first[1].eq(1).all()


@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_a_pass_that_is_left(nothing_stays, persistent, pin_memory):
    if pin_memory:
        mindtorch.ones(1).pin_memory()
    loader = DataLoader(Large(), 4, num_workers=2, persistent_workers=persistent, pin_memory=pin_memory)
    for _ in range(2):
        for tensor, *_ in loader:
            assert tensor.is_pinned() == pin_memory
            break
    del loader, tensor, _


@pytest.mark.parametrize("pin_memory", [False, True])
def test_workers_that_are_killed(nothing_stays, pin_memory):
    iterator = iter(DataLoader(Trouble("killed"), None, num_workers=2, pin_memory=pin_memory))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as error:
            list(iterator)
    del iterator, error


def test_a_worker_killed_with_batches_on_the_way(nothing_stays):
    iterator = iter(DataLoader(Large(), 4, num_workers=1))
    next(iterator)
    iterator._pool._processes[0].kill()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(iterator)
    del iterator


def test_the_thread_that_pins():
    iterator = iter(DataLoader(Wrapped(), None, num_workers=1, pin_memory=True, collate_fn=unchanged))
    assert next(iterator).is_pinned()
    with pytest.raises(ValueError, match=r"Caught ValueError in pin memory thread for device 0\.\nOriginal Traceback"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_timeout_of_the_thread_that_pins(monkeypatch):
    monkeypatch.setattr("mindtorch.utils.data._utils.pool.MP_STATUS_CHECK_INTERVAL", 0.1)
    iterator = iter(DataLoader(Trouble("slow"), None, num_workers=1, timeout=0.3, pin_memory=True))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.3 seconds"):
        list(iterator)


def test_too_many_open_files():
    here, there = multiprocessing.Pipe(duplex=True)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with here, there:
        transport.send(there, np.zeros(SIZE))
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            with pytest.raises(RuntimeError, match="Too many open files"):
                transport.receive(here)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def run(body):
    """(stdout, stderr) of a script of its own, in a process group of its own."""
    script = textwrap.dedent("""
        import multiprocessing, os, signal, sys
        import mindtorch
        from mindtorch.utils.data import DataLoader
        multiprocessing.set_start_method("fork")
        signal.signal(signal.SIGINT, signal.default_int_handler)     # who runs tests in the background ignores it

        class Large:
            def __len__(self):
                return 64

            def __getitem__(self, i):
                if i == 40:
                    os.killpg(os.getpgid(0), signal.SIGINT)
                return mindtorch.ones(1 << 18)
    """) + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False,
                          start_new_session=True)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_leaving_the_interpreter_says_nothing(method, tmp_path):
    end = f"""
        batch = next(iter(DataLoader(mindtorch.utils.data.TensorDataset(mindtorch.ones(64, 1 << 18)), 4, num_workers=1,
                                     multiprocessing_context="{method}")))
        print(tuple(batch[0].shape))
    """
    assert run(end) == ("(4, 262144)\n", "")


def test_control_c():
    end = """
        try:
            list(DataLoader(Large(), 4, num_workers=2))
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert run(end) == ("interrupted\n", "")


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_bsc"])
def test_sparse_samples_come_from_workers(layout):
    x = mindtorch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    blocks = {"blocksize": (1, 1)} if layout == "sparse_bsc" else {}
    sample = x.to_sparse(layout=getattr(mindtorch, layout), **blocks)
    got, = DataLoader([sample], batch_size=None, num_workers=1)
    assert got.layout is sample.layout
    assert got.to_dense().tolist() == x.tolist()
