"""torch.distributed.utils beside torch's."""
import importlib
from collections import OrderedDict, namedtuple

import pytest
import torch

import mindtorch

Pair = namedtuple("Pair", "a b")
BOTH = pytest.mark.parametrize("library", [mindtorch, torch], ids=["mindtorch", "torch"])


def utils(library):
    return importlib.import_module(f"{library.__name__}.distributed.utils")


@BOTH
def test_containers_keep_their_kind(library):
    one = library.ones(1)
    made = utils(library)._apply_to_tensors(
        lambda tensor: tensor + 1, {"l": [one, 2], "t": (one,), "p": Pair(one, "x"), "o": OrderedDict(k=one)})
    assert made == {"l": [library.tensor([2.]), 2], "t": (library.tensor([2.]),),
                    "p": Pair(library.tensor([2.]), "x"), "o": OrderedDict(k=library.tensor([2.]))}
    assert type(made["o"]) is OrderedDict


@BOTH
def test_arguments_are_moved_cast_and_packed(library):
    of = utils(library)
    (args,), (kwargs,) = of._to_kwargs((library.ones(1),), {"x": library.ones(1)}, library.device("cpu"), False)
    assert args[0].device == kwargs["x"].device == library.device("cpu")
    args, kwargs = of._cast_forward_inputs(library.float16, library.ones(1), n=library.ones(1, dtype=library.int32))
    assert (args[0].dtype, kwargs["n"].dtype) == (library.float16, library.int32)
    assert of._unpack_kwargs(*of._pack_kwargs(1, 2, a=3)) == ((1, 2), {"a": 3})


@BOTH
def test_rendezvous_options_are_read(library):
    kind = importlib.import_module(f"{library.__name__}.distributed.elastic.rendezvous").RendezvousParameters
    params = kind("c10d", "x:1", "a", 1, 2, is_host="Yes", rank="3", flag=0, other="maybe")
    assert (params.config, params.local_addr) == ({"is_host": "Yes", "rank": "3", "flag": 0, "other": "maybe"}, None)
    assert [params.get_as_bool(key, False) for key in ("is_host", "flag", "none")] == [True, False, False]
    assert [params.get_as_int("rank"), params.get_as_int("none"), params.get("none", 7)] == [3, None, 7]
    with pytest.raises(ValueError, match="'other' does not represent a valid boolean value"):
        params.get_as_bool("other")
    with pytest.raises(ValueError, match="'other' does not represent a valid integer value"):
        params.get_as_int("other")


@BOTH
def test_settings_of_state_dicts(library):
    of = importlib.import_module(f"{library.__name__}.distributed.fsdp.fully_sharded_data_parallel")
    assert [of.StateDictType(value).name for value in (1, 2, 3)] == ["FULL_STATE_DICT", "LOCAL_STATE_DICT",
                                                                   "SHARDED_STATE_DICT"]
    full, sharded = of.FullStateDictConfig(rank0_only=True), of.ShardedOptimStateDictConfig()
    assert (full.offload_to_cpu, full.rank0_only, sharded.offload_to_cpu) == (False, True, True)
    assert isinstance(full, of.StateDictConfig)
    assert isinstance(of.FullOptimStateDictConfig(), of.OptimStateDictConfig)


@BOTH
def test_root_modules(library):
    network = library.nn.Sequential(library.nn.Linear(1, 1), library.nn.Linear(1, 1))
    other = library.nn.Linear(1, 1)
    assert utils(library)._get_root_modules([network, network[1], other]) == [network, other]


@BOTH
def test_what_is_no_reduction_that_complex_numbers_lack_supports_them(library):
    dist = library.distributed
    assert [dist.supports_complex(op) for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.BXOR, -1, None)
            ] == [True, False, False, True, True]
