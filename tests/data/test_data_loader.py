"""DataLoader without workers beside torch's: batches, order, lengths, refusals, pinned memory."""
import pytest
from both import OURS, assert_alike
from loading import Samples, shards

import mindtorch
from mindtorch.utils.data import DataLoader

OPTIONS = [
    {}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None},
    {"batch_size": 4, "shuffle": True},
    {"shuffle": True, "batch_size": None}, {"batch_size": 5, "collate_fn": len},
    {"batch_sampler": [[0, 5], [3]]}, {"sampler": [4, 2, 1], "batch_size": 2}, {"sampler": "no key"},
]
REFUSED = [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True}, {"sampler": [1], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "shuffle": True}, {"batch_sampler": [[1]], "sampler": [1]},
    {"batch_sampler": [[1]], "drop_last": True}, {"batch_size": None, "drop_last": True}, {"batch_size": 0},
    {"batch_size": 2.0}, {"drop_last": 1}, {"multiprocessing_context": "fork"}, {"timeout": 1},
    {"num_workers": 1, "multiprocessing_context": "nonsense"}, {"num_workers": 1, "multiprocessing_context": 3},
]
ITERABLE = [{}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}, {"shuffle": False},
            {"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}]


@pytest.mark.quick
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_batches(options):
    """Two passes, the length, and the next random number: the generator has moved on as torch's has."""
    def use(side):
        side.t.manual_seed(2)
        loader = side.d.DataLoader(Samples(side.t), **options)
        return [list(loader), list(loader), len(loader), len(iter(loader)), side.t.randint(0, 1000, (1,))]
    assert_alike(use)


@pytest.mark.quick
def test_the_generator_that_is_given():
    def use(side):
        generator = side.t.Generator().manual_seed(11)
        loader = side.d.DataLoader(range(9), 2, shuffle=True, generator=generator)
        return [list(loader), list(loader), side.t.randint(0, 1000, (1,), generator=generator)]
    assert_alike(use)


@pytest.mark.quick
@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_refusals(options):
    assert_alike(lambda side: list(side.d.DataLoader(range(3), **options)))


@pytest.mark.quick
@pytest.mark.parametrize("options", ITERABLE, ids=str)
def test_iterable_datasets(options):
    def use(side):
        loader = side.d.DataLoader(shards(side.d.IterableDataset, side.d.get_worker_info), **options)
        return [list(loader), list(loader), len(loader)]
    assert_alike(use)


@pytest.mark.quick
def test_more_samples_than_promised():
    class Liar(OURS.d.IterableDataset):
        def __iter__(self):
            return iter(range(3))

        def __len__(self):
            return 2

    loader = DataLoader(Liar(), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match=r"reported to be 2\(when accessing len\(dataloader\)\), but 3 samples"):
        assert list(loader) == [0, 1, 2]


@pytest.mark.quick
@pytest.mark.parametrize("name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                                  "persistent_workers"])
def test_what_cannot_be_set_later(name):
    def use(side):
        setattr(side.d.DataLoader(range(3)), name, 1)
    assert_alike(use)


@pytest.mark.quick
def test_the_dataset_fetches_many_at_once():
    class Many:
        def __len__(self):
            return 4

        def __getitems__(self, keys):
            return [[tuple(keys)]]

    assert list(DataLoader(Many(), 3, collate_fn=list)) == [[[(0, 1, 2)]], [[(3,)]]]


def test_pinned_memory():
    tensor, number, rest = next(iter(DataLoader(Samples(mindtorch), 2, pin_memory=True)))
    assert tensor.is_pinned()
    assert number.is_pinned()
    assert rest["a"].is_pinned()
    assert rest["name"] == ["0", "1"]
    assert tensor.to("npu", non_blocking=True).tolist() == [[0, 1, 2], [1, 2, 3]]


def test_pinning_asks_what_can_pin_itself():
    class Own:
        def pin_memory(self):
            return "pinned"

    assert list(DataLoader([Own()], batch_size=None, collate_fn=lambda own: own, pin_memory=True)) == ["pinned"]


def test_the_device_to_pin_for_is_ignored():
    with pytest.warns(UserWarning, match="pin_memory_device is deprecated"):
        list(DataLoader(range(2), pin_memory=True, pin_memory_device="npu"))


def test_batches_of_npu_tensors():
    dataset = OURS.d.TensorDataset(mindtorch.arange(4, device="npu"))
    assert [batch[0].tolist() for batch in DataLoader(dataset, 3)] == [[0, 1, 2], [3]]
    assert next(iter(DataLoader(dataset)))[0].device.type == "npu"
