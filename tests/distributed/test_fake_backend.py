"""The engine "fake", engines that programs register, and what a group is asked, in one process."""
import importlib
from datetime import timedelta

import pytest
import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

import mindtorch
from mindtorch.distributed import _c10d
from mindtorch.distributed._fake import FakeStore as OwnFakeStore

CALLS = """
dist.all_reduce(t)
dist.broadcast(t, 2)
dist.all_gather(four, t)
dist.all_gather_object(places, {"a": 1})
dist.reduce_scatter(one, list(t.split(1)))
dist.all_to_all(ones, list(t.split(1)))
dist.all_to_all_single(z, t)
dist.scatter(one, None, src=0)
dist.scatter(one, list(t.split(1)), src=1)
dist.gather(t, four, dst=1)
dist.recv(z, 0)
dist.barrier()
dist.get_rank(), dist.get_world_size(), dist.get_backend()
dist.get_process_group_ranks(dist.new_group([1, 2])), dist.new_group([2])
dist.all_reduce(t, async_op=True).wait()
dist.group.WORLD.rank(), dist.group.WORLD.size()
""".strip().splitlines()


def outcomes(library, store):
    library.distributed.init_process_group("fake", rank=1, world_size=4, store=store())
    try:
        found = {}
        for call in CALLS:
            names = {"dist": library.distributed, "t": library.arange(4.), "z": library.zeros(4), "places": [None] * 4,
                     "one": library.zeros(1), "ones": [library.zeros(1) for _ in range(4)],
                     "four": [library.zeros(4) for _ in range(4)]}
            result = eval(call, names)
            found[call] = repr([result, *(names[name] for name in ("t", "z", "places", "one", "ones", "four"))])
        return found
    finally:
        library.distributed.destroy_process_group()


def test_fake_collectives_do_what_torchs_do():
    assert outcomes(mindtorch, OwnFakeStore) == outcomes(torch, FakeStore)


def test_fake_groups_need_no_store():
    errors = []
    for library in (mindtorch, torch):
        library.distributed.init_process_group("fake", rank=1, world_size=4)
        assert library.distributed.get_world_size() == 4
        library.distributed.destroy_process_group()
        with pytest.raises(RuntimeError) as caught:
            library.distributed.init_process_group("fake")
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


class Doubling(_c10d.Backend):
    """An engine that a program writes."""

    def name(self):
        return "doubling"

    def allreduce(self, tensors, opts):
        tensors[0].mul_(2)
        future = mindtorch.futures.Future()
        future.set_result(tensors)
        return _c10d._create_work_from_future(future)


def test_a_program_registers_an_engine():
    dist = mindtorch.distributed
    made = []

    def create(store, rank, size, timeout):
        made.append((rank, size, timeout))
        return Doubling(rank, size, timeout)

    dist.Backend.register_backend("doubling", create, devices=["cpu"])
    assert dist.Backend.DOUBLING == "doubling"
    dist.init_process_group("doubling", store=dist.HashStore(), rank=0, world_size=2, timeout=timedelta(seconds=5))
    try:
        tensor = mindtorch.ones(2)
        dist.all_reduce(tensor)
        assert dist.group.WORLD.allreduce([tensor]).get_future().wait()[0] is tensor
        assert tensor.tolist() == [4, 4]
        assert made == [(0, 2, timedelta(seconds=5))]
        assert dist.get_backend() == "doubling"
        assert dist.get_backend_config() == "cpu:doubling"
        with pytest.raises(RuntimeError, match="Backend doubling does not support broadcast"):
            dist.broadcast(tensor, 0)
    finally:
        dist.destroy_process_group()
        dist.Backend.backend_list.remove("doubling")


@pytest.mark.parametrize(("text", "shown"), [
    ("mpi", "cpu:mpi"), ("hccl", "npu:hccl"), ("cpu:mpi,npu:hccl", "cpu:mpi,npu:hccl"), ("gloo", "cpu:mpi"),
    ("fake", "cpu:fake,npu:fake"), ("CPU:GLOO", "cpu:mpi")])
def test_engines_by_device(text, shown):
    assert repr(mindtorch.distributed.BackendConfig(text)) == shown


@pytest.mark.parametrize("text", ["cpu:mpi:x", "cpu:mpi,cpu:hccl", "cpu:mpi,npu"])
def test_engines_that_cannot_be_read(text):
    with pytest.raises(ValueError, match="The custom backend string argument is invalid"):
        mindtorch.distributed.BackendConfig(text)


@pytest.mark.parametrize(("arguments", "kind"), [
    ({"store": 1, "init_method": "env://"}, AssertionError), ({"store": 1, "rank": 0}, AssertionError),
    ({"store": 1, "world_size": 2}, AssertionError), ({"backend": "fake", "timeout": 5.0}, TypeError)])
def test_arguments_that_exclude_each_other(arguments, kind):
    errors = []
    for library in (mindtorch, torch):
        with pytest.raises(kind) as caught:
            library.distributed.init_process_group(**arguments)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_reductions_and_options_look_as_torchs():
    for library in (mindtorch, torch):
        op, options = library.distributed.ReduceOp, library.distributed.AllreduceOptions()
        assert repr(op.SUM) == "<RedOpType.SUM: 0>"
        assert str(op.MAX) == "RedOpType.MAX"
        assert isinstance(op.SUM, op)
        assert not isinstance(3, op)
        assert op(op.MIN) == op.MIN
        assert options.asyncOp
        assert options.timeout == timedelta(milliseconds=-1)
        assert op(options.reduceOp.op) == op.SUM if library is torch else options.reduceOp is op.SUM


def test_work_that_a_thread_finishes():
    work = _c10d.Work()
    assert not work.is_completed()
    with pytest.raises(RuntimeError, match="Operation timed out"):
        work.wait(timedelta(milliseconds=1))
    work.finish(ValueError("lost"))
    assert work.is_completed()
    assert not work.is_success()
    with pytest.raises(ValueError, match="lost"):
        work.wait()


@pytest.mark.parametrize("library", [mindtorch, torch])
def test_a_group_in_python_has_a_name_of_its_own(library):
    class Group(library.distributed.ProcessGroup):
        def getBackendName(self):
            return "own"

    assert Group(0, 1).name() == "own"
    assert library.distributed._Work is library.distributed.Work


@pytest.mark.parametrize("library", [mindtorch, torch])
def test_a_group_in_python_of_a_few_methods_trains_a_replica(library):
    dist, nn = library.distributed, library.nn

    class Done(dist._Work):
        def __init__(self, tensors):
            super().__init__()
            self.future = library.futures.Future()
            self.future.set_result(tensors)

        def wait(self, timeout):
            return True

        def get_future(self):
            return self.future

    class Alone(dist.ProcessGroup):
        def broadcast(self, tensors, opts):
            return Done(tensors)

        def allreduce(self, tensors, opts):
            return Done(tensors)

        def allgather(self, outputs, inputs, opts):
            for output, input in zip(outputs[0], inputs, strict=True):
                output.copy_(input)
            return Done(outputs)

        def getRank(self):
            return 0

        def getSize(self):
            return 1

        def getBackendName(self):
            return "alone"

        def setGroupName(self, name):
            self.own_name = f"own {name}"

        def getGroupName(self):
            return self.own_name

    group = Alone(3, 4)
    assert (group.rank(), group.size()) == (0, 1)
    group._set_group_name("name")
    assert group.group_name == "own name"
    net = nn.Linear(2, 1, bias=False)
    replica, input = nn.parallel.DistributedDataParallel(net, process_group=group), library.tensor([2.0, 3.0])
    for _ in range(3):      # after the first, the buckets are made anew
        replica(input).backward()
    net(input).backward()   # no step of the replica's
    assert net.weight.grad.tolist() == [[8, 12]]
    assert replica._get_ddp_logging_data()["backend_name"] == "alone"


@pytest.mark.parametrize("library", [mindtorch, torch])
def test_debug_levels(library, monkeypatch):
    dist, before = library.distributed, library.distributed.get_debug_level()
    try:
        for name in ("off", "InFo", "DETAIL"):
            monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", name)
            dist.set_debug_level_from_env()
            assert dist.get_debug_level() == getattr(dist.DebugLevel, name.upper())
        monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "1")
        with pytest.raises(ValueError, match="The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL"):
            dist.set_debug_level_from_env()
    finally:
        dist.set_debug_level(before)


@pytest.mark.parametrize("library", ["mindtorch", "torch"])
def test_groups_by_ranks_and_tag(library):
    torch = importlib.import_module(library)
    if library == "torch":
        importlib.import_module("torch.testing._internal.distributed.fake_pg")
    functional, c10d = (importlib.import_module(f"{library}.distributed.{name}")
                        for name in ("_functional_collectives", "distributed_c10d"))
    dist = torch.distributed
    dist.init_process_group("fake", store=dist.HashStore(), rank=1, world_size=4)
    try:
        expand = functional._expand_group
        assert expand([0, 1, 2], "t") == ("t", [0, 1, 2], 3)
        assert expand([[0, 1], [2, 3]]) == ("", [0, 1, 2, 3], 2)
        with pytest.raises(ValueError, match="group sizes must be identical"):
            expand([[0], [1, 2]])
        assert expand(dist.group.WORLD) == (c10d._get_group_tag(dist.group.WORLD), [0, 1, 2, 3], 4)
        tagged = c10d._new_group_with_tag([0, 1], pg_tag="mine")
        assert expand(tagged) == ("mine", [0, 1], 2)
        assert c10d._new_group_with_tag([0, 1], pg_tag="mine") is tagged
        assert c10d._new_group_with_tag([0, 1]) is not tagged
        mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2))
        with pytest.raises(AssertionError, match="Only 1D mesh"):
            expand(mesh)
        assert expand((mesh, 0))[1:] == ([1, 3], 2)
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("library", ["mindtorch", "torch"])
@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_functional_collectives_of_meta_tensors(library):
    torch = importlib.import_module(library)
    functional = importlib.import_module(f"{library}.distributed._functional_collectives")
    torch.distributed.init_process_group("fake", store=torch.distributed.HashStore(), rank=1, world_size=2)
    try:
        x, group = torch.ones(4, 3, device="meta"), torch.distributed.group.WORLD
        made = [functional.all_reduce(x, "sum", group), functional.all_gather_tensor(x, 1, group),
                functional.reduce_scatter_tensor(x, "sum", 0, group),
                functional.all_to_all_single(x, [1, 1], [2, 2], group), functional.broadcast(x, 0, group)]
        assert [tuple(each.shape) for each in made] == [(4, 3), (4, 6), (2, 3), (2, 3), (4, 3)]
        assert {str(each.device) for each in made} == {"meta"}
    finally:
        torch.distributed.destroy_process_group()
