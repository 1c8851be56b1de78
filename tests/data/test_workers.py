"""DataLoader with worker processes: order and seeds beside torch's, errors, deaths, timeouts, nothing left running."""
import gc
import multiprocessing
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from both import OURS, TORCH, assert_alike, plain
from loading import Drawn, Everything, Grown, Ours, Samples, Trouble, mark, refuse, shards, unchanged

import mindtorch
from mindtorch.utils.data import DataLoader

pytestmark = [pytest.mark.one_mode,
              pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")]


@pytest.fixture(autouse=True)
def _no_process_stays():
    before = set(multiprocessing.active_children())
    yield
    gc.collect()            # what pytest caught holds iterators
    assert set(multiprocessing.active_children()) <= before


@pytest.fixture(autouse=True)
def _enough_processors(monkeypatch):
    """The warning of too many workers depends on the machine."""
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))


OPTIONS = [
    {"batch_size": 4}, {"batch_size": 4, "shuffle": True}, {"batch_size": 4, "drop_last": True},
    {"batch_size": None, "shuffle": True}, {"batch_sampler": [[0, 5], [3]]}, {"batch_size": 4, "prefetch_factor": 5},
    {"batch_size": 4, "shuffle": True, "persistent_workers": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_batches(options):
    def use(side):
        side.t.manual_seed(2)
        loader = side.d.DataLoader(Samples(side.t), num_workers=2, **options)
        return [list(loader), list(loader), len(loader), side.t.randint(0, 1000, (1,))]
    assert_alike(use)


def test_seeds_and_worker_info():
    """random, NumPy and the library draw in each worker what they draw in torch's, in each pass anew."""
    def use(side):
        side.t.manual_seed(4)
        loader = side.d.DataLoader(Drawn(side.t, side.d.get_worker_info), 5, num_workers=2)
        return [list(loader), list(loader)]
    assert_alike(use)
    assert OURS.d.get_worker_info() is None


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None},
                                     {"batch_size": 3, "persistent_workers": True}], ids=str)
def test_iterable_datasets(options):
    def use(side):
        dataset = shards(side.d.IterableDataset, side.d.get_worker_info)
        loader = side.d.DataLoader(dataset, num_workers=2, **options)
        return [list(loader), list(loader)]
    assert_alike(use)


def test_more_than_promised_names_the_workers():
    loader = DataLoader(shards(OURS.d.IterableDataset, OURS.d.get_worker_info), num_workers=2, batch_size=None)
    assert len(loader) == 10
    with pytest.warns(UserWarning, match=r"(?s)reported to be 10.*IterableDataset replica at each worker"):
        assert len(list(loader)) == 14


def test_order_may_be_given_up():
    loader = DataLoader(Samples(mindtorch), 4, num_workers=2, in_order=False)
    assert sorted(name for batch in loader for name in batch[2]["name"]) == sorted(map(str, range(23)))
    loader = DataLoader(shards(OURS.d.IterableDataset, OURS.d.get_worker_info), None, num_workers=2, in_order=False)
    assert sorted(loader) == [*range(5), *range(100, 109)]


def test_every_kind_of_sample_arrives():
    dataset = Everything()
    for got, sent in zip(DataLoader(dataset, None, num_workers=1, collate_fn=unchanged), dataset.samples(),
                         strict=True):
        assert type(got) is type(sent)
        if isinstance(sent, np.ndarray):
            assert got.dtype == sent.dtype
            assert got.tolist() == sent.tolist()
        else:
            assert plain(got) == plain(sent)
        if isinstance(sent, mindtorch.Tensor):
            assert got.shape == sent.shape
            assert got.requires_grad == sent.requires_grad
            got.detach().zero_()                    # its memory is its own


def caught(side, what):
    """(type, first lines and last line of the message) of what a worker's trouble becomes."""
    iterator = iter(side.d.DataLoader(Trouble(what), 2, num_workers=2))
    with pytest.raises(Exception) as error:     # noqa: PT011 - which one is what is compared
        list(iterator)
    if side is TORCH:
        iterator._shutdown_workers()            # left to the garbage collection it takes ten seconds
    lines = str(error.value.args[0]).splitlines()
    return type(error.value).__name__, lines[:2], lines[-1]


@pytest.mark.parametrize("what", ["value_error", "key_error", "fruit"])
def test_errors_come_back_with_type_and_traceback(what):
    assert_alike(lambda side: caught(side, what))
    assert "in DataLoader worker process 0.\nOriginal Traceback" in "\n".join(caught(OURS, what)[1])


def test_an_error_of_a_type_that_cannot_travel():
    name, first, end = caught(OURS, "local_type")
    assert name == "RuntimeError"
    assert first == ["Caught RuntimeError in DataLoader worker process 0.",
                     "Original Traceback (most recent call last):"]
    assert end.endswith("Local: sour")


def test_samples_that_cannot_travel():
    with pytest.raises((AttributeError, TypeError), match=r"(?s)in DataLoader worker process 0.*pickle"):
        list(DataLoader(Trouble("unpicklable"), None, num_workers=1, collate_fn=unchanged))
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(DataLoader(Grown(), None, num_workers=1))


def test_one_goes_on_after_an_error():
    iterator = iter(DataLoader(Trouble("value_error"), None, num_workers=2))
    assert [next(iterator) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="sour"):
        next(iterator)
    assert list(iterator) == [6, 7]
    with pytest.raises(StopIteration):
        next(iterator)


def test_the_function_that_prepares_workers():
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0.*worker 0 refuses"):
        list(DataLoader(range(4), num_workers=2, worker_init_fn=refuse))
    dataset = Samples(mindtorch)
    list(DataLoader(dataset, num_workers=1, worker_init_fn=mark))
    assert dataset.count == 23          # the worker had a copy


def test_a_worker_that_is_killed():
    """Batches of the others may still come; then the loss is told, each time one asks."""
    iterator = iter(DataLoader(Trouble("killed"), None, num_workers=2))
    message = r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"
    with pytest.raises(RuntimeError, match=message):
        list(iterator)
    with pytest.raises(RuntimeError, match=message):
        list(iterator)


def test_timeout(monkeypatch):
    monkeypatch.setattr("mindtorch.utils.data._utils.pool.MP_STATUS_CHECK_INTERVAL", 0.1)
    iterator = iter(DataLoader(Trouble("slow"), None, num_workers=1, timeout=0.3))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.3 seconds"):
        list(iterator)
    del iterator                # the worker sleeps: it is killed


@pytest.mark.parametrize("persistent", [False, True])
def test_a_pass_that_is_left(persistent):
    """Also when answers larger than a pipe wait to be read."""
    dataset = OURS.d.TensorDataset(mindtorch.zeros(12, 1 << 20))
    loader = DataLoader(dataset, num_workers=2, persistent_workers=persistent)
    for _ in loader:
        break
    assert len([batch for batch, in loader if batch.shape == (1, 1 << 20)]) == 12
    del loader


def test_keys_longer_than_a_pipe():
    batches = [list(range(100_000))] * 4
    assert [len(batch) for batch in DataLoader(range(100_000), batch_sampler=batches, num_workers=1,
                                               collate_fn=unchanged)] == [100_000] * 4


def test_persistent_workers_stay():
    class Process:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return os.getpid()

    loader = DataLoader(Process(), None, num_workers=2, persistent_workers=True)
    assert list(loader) == list(loader)
    assert iter(loader) is iter(loader)
    del loader


def test_spawned_workers_use_the_npu():
    mindtorch.ones(1, device="npu")
    loader = DataLoader(Trouble("on_npu"), 8, num_workers=1, multiprocessing_context="spawn", collate_fn=unchanged)
    batch = next(iter(loader))
    assert batch[5].device.type == "npu"
    assert batch[5].tolist() == [1, 1]


def test_spawned_workers_read_shards():
    assert sorted(DataLoader(Ours(), None, num_workers=1, multiprocessing_context="spawn")) == [0, 1, 2]


def test_workers_forked_after_the_npu_was_used():
    mindtorch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match=r"(?s)Caught RuntimeError in DataLoader worker process 0.*Cannot "
                                           "re-initialize NPU in forked subprocess.*'spawn' start method"):
        list(DataLoader(Trouble("on_npu"), 8, num_workers=1, multiprocessing_context="fork"))


def test_batches_of_workers_in_pinned_memory():
    for tensor, *_ in DataLoader(Samples(mindtorch), 8, num_workers=1, pin_memory=True):
        assert tensor.is_pinned()


def test_more_workers_than_processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert_alike(lambda side: side.d.DataLoader(range(3), num_workers=3).num_workers)


LEFT = """
    import os, signal, sys
    import mindtorch
    from mindtorch.utils.data import DataLoader
    from mindtorch.utils.data._utils import worker
    worker.MP_STATUS_CHECK_INTERVAL = 0.1
    iterator = iter(DataLoader(range(100), num_workers=2, multiprocessing_context="fork"))
    next(iterator)
    print(*(process.pid for process in iterator._pool._processes), flush=True)
    {end}
"""


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_workers_end_with_their_parent(end):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(LEFT).format(end=end)], capture_output=True,
                          text=True, timeout=60, check=False)
    pids = done.stdout.split()
    assert len(pids) == 2, done.stderr
    for _ in range(200):
        if not any(os.path.exists(f"/proc/{pid}/cmdline") and _runs(pid) for pid in pids):
            return
        time.sleep(0.05)
    pytest.fail(f"workers {pids} outlive their parent")


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
