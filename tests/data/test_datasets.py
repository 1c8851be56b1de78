"""Data sets, splits and samplers, beside torch's."""
import pytest
from both import OURS, TORCH, assert_alike


def stacked(side):
    return side.d.StackDataset(side.t.arange(4), side.d.TensorDataset(side.t.arange(4) * 2))


class Numbers:
    """A data set that can fetch many samples at once, one too few when told so."""

    def __init__(self, lost=0):
        self.lost = lost

    def __len__(self):
        return 5

    def __getitem__(self, i):
        return i * 10

    def __getitems__(self, indices):
        return [i * 10 for i in indices][self.lost:]


def counting(side, *lengths):
    class Counting(side.d.IterableDataset):
        def __init__(self, length):
            self.length = length

        def __iter__(self):
            return iter(range(self.length))

        def __len__(self):
            return self.length

    return [Counting(length) for length in lengths]


def overriding(side):
    class Doubled(side.d.Subset):
        def __getitem__(self, idx):
            return super().__getitem__(idx) * 2

    return Doubled(range(3), [0])


DATASETS = {
    "dataset": lambda s: s.d.Dataset()[0],
    "tensors": lambda s: s.d.TensorDataset(s.t.arange(6).view(3, 2), s.t.arange(3))[1],
    "tensors: length": lambda s: len(s.d.TensorDataset(s.t.arange(6).view(3, 2))),
    "tensors of two sizes": lambda s: s.d.TensorDataset(s.t.ones(3), s.t.ones(2)),
    "stack": lambda s: [stacked(s)[2], len(stacked(s)), stacked(s).__getitems__([1, 3])],
    "stack by name": lambda s: s.d.StackDataset(a=range(3), b=Numbers(), c=range(3))[1],
    "stack by name, many": lambda s: s.d.StackDataset(a=range(5), b=Numbers()).__getitems__([1, 4]),
    "stack that loses": lambda s: s.d.StackDataset(Numbers(lost=1)).__getitems__([1, 4]),
    "stack by name that loses": lambda s: s.d.StackDataset(a=Numbers(lost=1)).__getitems__([1, 4]),
    "stack of nothing": lambda s: s.d.StackDataset(),
    "stack of both kinds": lambda s: s.d.StackDataset(range(3), a=range(3)),
    "stack of two sizes": lambda s: s.d.StackDataset(range(3), range(4)),
    "concat": lambda s: [s.d.ConcatDataset([range(3), "abc", range(9)])[i] for i in (0, 3, 5, 6, 14, -1, -15)],
    "concat: length": lambda s: [len(s.d.ConcatDataset([range(3), "ab"])), s.d.ConcatDataset(["a", "b"]).datasets],
    "concat too far": lambda s: s.d.ConcatDataset([range(3)])[-4],
    "concat beyond": lambda s: s.d.ConcatDataset([range(3)])[3],
    "concat of nothing": lambda s: s.d.ConcatDataset([]),
    "concat of iterables": lambda s: s.d.ConcatDataset(counting(s, 2)),
    "sum": lambda s: list(s.d.Subset(range(4), [1, 2]) + s.d.Subset("abc", [0])),
    "chain": lambda s: list(s.d.ChainDataset(counting(s, 2, 3))),
    "sum of iterables": lambda s: list(counting(s, 2)[0] + counting(s, 3)[0]),
    "chain: length": lambda s: len(s.d.ChainDataset(counting(s, 2, 3))),
    "chain of others": lambda s: list(s.d.ChainDataset([range(3)])),
    "subset": lambda s: list(s.d.Subset("abcdef", [5, 0, 3])),
    "subset, many": lambda s: [s.d.Subset("abc", [2, 0]).__getitems__([0, 1]),
                               s.d.Subset(Numbers(), [2, 0]).__getitems__([0, 1])],
    "subset by list": lambda s: s.d.Subset(s.t.arange(9), [5, 0, 3])[[0, 2]],
    "subset that overrides": overriding,
}
SPLITS = [[3, 7], [0.5, 0.3, 0.2], [0.33, 0.33, 0.34], [10], [1.0], [0.05, 0.95], [5, 4], [-0.5, 1.5], [1.2, -0.2],
          [0.5, 0.4]]
SAMPLERS = {
    "sequential": lambda s: s.d.SequentialSampler(range(4)),
    "random": lambda s: s.d.RandomSampler(range(11)),
    "random, some": lambda s: s.d.RandomSampler(range(11), num_samples=5),
    "random, more": lambda s: s.d.RandomSampler(range(11), num_samples=30),
    "random, replaced": lambda s: s.d.RandomSampler(range(11), replacement=True, num_samples=75),
    "random, generator": lambda s: s.d.RandomSampler(range(11), generator=s.t.Generator().manual_seed(5)),
    "random of nothing": lambda s: s.d.RandomSampler([]),
    "random, replacement": lambda s: s.d.RandomSampler(range(3), replacement=1),
    "random, fraction": lambda s: s.d.RandomSampler(range(3), num_samples=1.5),
    "subset": lambda s: s.d.SubsetRandomSampler("abcdefgh"),
    "weighted": lambda s: s.d.WeightedRandomSampler([0.1, 0.9, 0.4, 0, 3], 20),
    "weighted, once": lambda s: s.d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.2, 3], 4, replacement=False),
    "weighted, none": lambda s: s.d.WeightedRandomSampler([0.1], 0),
    "weighted, truth": lambda s: s.d.WeightedRandomSampler([0.1], True),
    "weighted, replacement": lambda s: s.d.WeightedRandomSampler([0.1], 1, replacement=None),
    "weighted, matrix": lambda s: s.d.WeightedRandomSampler([[0.1, 0.2]], 2),
    "batch": lambda s: s.d.BatchSampler(range(10), 4, False),
    "batch, dropped": lambda s: s.d.BatchSampler(range(10), 4, True),
    "batch, even": lambda s: s.d.BatchSampler(range(8), 4, True),
    "batch of random": lambda s: s.d.BatchSampler(s.d.RandomSampler(range(10)), 3, False),
    "batch of none": lambda s: s.d.BatchSampler(range(10), 0, False),
    "batch of truth": lambda s: s.d.BatchSampler(range(10), True, False),
    "batch, drop": lambda s: s.d.BatchSampler(range(10), 2, 1),
    "sampler": lambda s: s.d.Sampler(),
    "rank beyond": lambda s: s.d.DistributedSampler(range(10), 2, 2),
    "rank below": lambda s: s.d.DistributedSampler(range(10), 2, -1),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", DATASETS)
def test_datasets(case):
    assert_alike(DATASETS[case])


@pytest.mark.quick
@pytest.mark.parametrize("lengths", SPLITS, ids=str)
def test_random_split(lengths):
    def split(side):
        side.t.manual_seed(1)
        return [list(part) for part in side.d.random_split(range(10), lengths)]
    assert_alike(split)
    assert_alike(lambda s: [p.indices for p in s.d.random_split("abc", [1, 2], s.t.Generator().manual_seed(9))])


@pytest.mark.quick
@pytest.mark.parametrize("case", SAMPLERS)
def test_samplers(case):
    """The keys of two passes, the length, and the next random number: as many have been drawn as torch draws."""
    def use(side):
        side.t.manual_seed(7)
        sampler = SAMPLERS[case](side)
        return [list(sampler), list(sampler), len(sampler), side.t.randint(0, 1000, (1,))]
    if case == "sampler":
        with pytest.raises(NotImplementedError):
            iter(OURS.d.Sampler())
    else:
        assert_alike(use)


@pytest.mark.quick
@pytest.mark.parametrize("case", ["random", "random, replaced", "subset", "weighted"])
def test_samplers_draw_with_their_first_key(case):
    def use(side):
        sampler = SAMPLERS[case](side)
        passes = iter(sampler), iter(sampler)
        first = []
        for each in passes:
            side.t.manual_seed(3)
            first.append(next(each))
        return first[0] == first[1], [list(each) for each in passes]
    assert_alike(use)


@pytest.mark.quick
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", [1, 7, 8, 9])
def test_each_process_has_its_share(count, drop_last, shuffle):
    def use(side):
        shares = []
        for rank in range(4):
            sampler = side.d.DistributedSampler(range(count), 4, rank, shuffle, 3, drop_last)
            sampler.set_epoch(2)
            shares.append([list(sampler), list(sampler), len(sampler)])
        return shares
    assert_alike(use)


@pytest.mark.quick
def test_a_share_needs_its_numbers():
    for side in (OURS, TORCH):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            side.d.DistributedSampler(range(3))
