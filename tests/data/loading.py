"""Data sets for both libraries that worker processes of any kind can unpickle, and what workers may meet."""
import os
import random
import signal
import time

import numpy as np

import mindtorch
from mindtorch.utils.data import Dataset, IterableDataset, get_worker_info


class Fruit(Exception):
    """Takes more than a message: it cannot be raised again in the parent."""

    def __init__(self, one, two):
        super().__init__(one, two)


class Samples(Dataset):
    """Sample i is (tensor, number, dict); `library` makes the tensors."""

    def __init__(self, library, count=23):
        self.arange, self.count = library.arange, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.arange(3) + i, float(i), {"a": np.float32(i), "name": str(i)}


class Drawn(Samples):
    """Samples of random numbers, from each generator that a worker seeds."""

    def __init__(self, library, info):
        super().__init__(library)
        self.randint, self.info = library.randint, info

    def __getitem__(self, i):
        info = self.info()
        return (i, random.randint(0, 1 << 30), int(np.random.randint(1 << 30)),
                int(self.randint(0, 1 << 30, (1,)).item()), info.seed, info.id, info.num_workers)


def shards(iterable_dataset, info):
    """An iterable data set of which each worker reads its own part; parts differ in length."""
    class Shards(iterable_dataset):
        def __iter__(self):
            me = info()
            return iter(range(10)) if me is None else iter(range(me.id * 100, me.id * 100 + 5 + 4 * me.id))

        def __len__(self):
            return 10

        def __repr__(self):
            return "Shards"

    return Shards()


class Ours(IterableDataset):
    """The same shards by a class that can be pickled."""

    def __iter__(self):
        return iter(range(get_worker_info().id * 100, get_worker_info().id * 100 + 3))


class Trouble(Dataset):
    """Does at index 5 what its name says."""

    def __init__(self, what):
        self.what = what

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return getattr(self, self.what)() if i == 5 else i

    def value_error(self):
        raise ValueError("sour")

    def key_error(self):
        raise KeyError("sour")

    def fruit(self):
        raise Fruit("sour", "sweet")

    def local_type(self):
        class Local(Exception):
            pass
        raise Local("sour")

    def unpicklable(self):
        return lambda: None

    def stop(self):
        raise StopIteration

    def killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def slow(self):
        time.sleep(30)

    def on_npu(self):
        return mindtorch.ones(2, device="npu")


class Everything(Dataset):
    """One sample of each kind that travels in a way of its own."""

    def samples(self):
        m = mindtorch
        return [m.ones(2, dtype=m.bfloat16), m.zeros(0, 3), m.tensor(3), m.arange(6).view(2, 3).t(),
                m.ones(2, requires_grad=True), m.ones(1).expand(4), m.tensor([1 + 2j]), m.tensor([True]),
                np.arange(3)[::-1], np.array(["a"]), np.array([None]), np.array(["2020-01-01"], "M8[D]"), b"x", None,
                m.arange(1 << 20), {"k": (m.ones(1), [m.ones(1)])}]

    def __len__(self):
        return len(self.samples())

    def __getitem__(self, i):
        return self.samples()[i]


class Grown(Dataset):
    """A sample with a history."""

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return mindtorch.ones(1, requires_grad=True) * 2


def unchanged(sample):
    return sample


def refuse(worker_id):
    raise ValueError(f"worker {worker_id} refuses")


def mark(worker_id):
    get_worker_info().dataset.count = 2
