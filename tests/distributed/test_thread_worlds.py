"""Ranks that are threads of one process: a program gives each its own records of groups, and writes their group."""
import threading

import pytest

import mindtorch as torch

dist = torch.distributed
FIELDS = ("default_pg", "pg_map", "pg_names", "pg_group_ranks", "pg_backend_config", "group_count", "tags_to_pg",
          "pg_to_tag", "pg_coalesce_state")


class ThreadWorld:
    """The records of the thread that asks."""

    def __init__(self):
        object.__setattr__(self, "_of_thread", threading.local())

    def _own(self):
        own = vars(self._of_thread)
        for field in FIELDS:
            own.setdefault(field, None if field == "default_pg" else 0 if field == "group_count" else {})
        return own

    def __getattr__(self, name):
        if name not in FIELDS:
            raise AttributeError(name)
        return self._own()[name]

    def __setattr__(self, name, value):
        self._own()[name] = value


class Done(dist.Work):
    def wait(self, timeout=None):
        return True


class ThreadGroup(dist.ProcessGroup):
    """all_reduce and all_gather_single between threads, by torch's newer names."""

    meetings = {}
    lock = threading.Lock()

    def __init__(self, store, rank, size):
        super().__init__(rank, size)
        self.calls = 0

    def exchange(self, tensor):
        self.calls += 1
        with self.lock:
            barrier, tensors = self.meetings.setdefault((self.size(), self.group_name, self.calls),
                                                        (threading.Barrier(self.size()), {}))
        tensors[self.rank()] = tensor.clone()
        barrier.wait(20)
        return [tensors[rank] for rank in range(self.size())]

    def allreduce(self, tensors, opts=None):
        tensors[0].copy_(sum(self.exchange(tensors[0])))
        return Done()

    def all_gather_single(self, output, tensor, opts=None):
        output.copy_(torch.cat(self.exchange(tensor)))
        return Done()


@pytest.fixture
def threads_are_ranks():
    dist.Backend.register_backend("threads", lambda store, rank, size, timeout: ThreadGroup(store, rank, size),
                                  devices=["cpu"])
    before = dist.distributed_c10d._world
    dist.distributed_c10d._world = ThreadWorld()
    yield
    dist.distributed_c10d._world = before
    dist.Backend.backend_list.remove("threads")
    del dist.Backend._plugins["THREADS"], dist.Backend.backend_capability["threads"]
    assert dist.distributed_c10d._world is before
    assert not dist.is_initialized()


def test_each_thread_has_its_own_groups(threads_are_ranks):
    store, found = dist.HashStore(), {}

    def rank(number):
        try:
            dist.init_process_group("threads", rank=number, world_size=4, store=store)
            pair = dist.new_group([number // 2 * 2, number // 2 * 2 + 1], use_local_synchronization=True)
            x, gathered = torch.full((2,), float(number)), torch.empty(4)
            dist.all_reduce(x)
            dist.all_gather_into_tensor(gathered, torch.full((2,), float(number)), group=pair)
            found[number] = [dist.get_rank(), dist.get_world_size(), dist.get_rank(pair), x.tolist(),
                             gathered.tolist(), dist.get_process_group_ranks(pair)]
            dist.destroy_process_group()
            found[number].append(dist.is_initialized())
        except BaseException as error:
            found[number] = error
            raise

    threads = [threading.Thread(target=rank, args=[number]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    for number in range(4):
        low = number // 2 * 2
        assert found[number] == [number, 4, number % 2, [6.0, 6.0], [float(low)] * 2 + [float(low + 1)] * 2,
                                 [low, low + 1], False]
    assert not dist.is_initialized()        # this thread has none
