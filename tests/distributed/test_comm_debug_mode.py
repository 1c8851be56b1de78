"""CommDebugMode, and the collectives as operators: one rank with the fake backend, counts and layouts beside torch."""
import importlib
import json

import pytest
import torch as theirs

import mindtorch as ours


@pytest.fixture(params=["mindtorch", "torch"])
def torch(request):
    library = importlib.import_module(request.param)
    if library is theirs:
        importlib.import_module("torch.testing._internal.distributed.fake_pg")
    library.distributed.init_process_group("fake", store=library.distributed.HashStore(), rank=1, world_size=2)
    yield library
    library.distributed.destroy_process_group()


def module(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


def model(library):
    nn, parallel = library.nn, module(library, "distributed.tensor.parallel")

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(4, 6), nn.Linear(6, 4)

        def forward(self, x):
            return self.down(self.up(x).relu())

    mesh = module(library, "distributed.device_mesh").init_device_mesh("cpu", (2,))
    plan = {"up": parallel.ColwiseParallel(), "down": parallel.RowwiseParallel()}
    return parallel.parallelize_module(Model(), mesh, plan)


def mode_of(library):
    return module(library, "distributed.tensor.debug").CommDebugMode()


def counts(mode):
    return {str(key): count for key, count in mode.get_comm_counts().items()}


def lines(mode, level):
    """The table, without its colours; torch leaves out nothing of a module's class but its home."""
    table = mode.generate_comm_debug_tracing_table(level)
    for colour in ("\x1b[1;33m", "\x1b[1;31m", "\x1b[0m"):
        table = table.replace(colour, "")
    return [line.replace("mindtorch.", "torch.") for line in table.splitlines()]


def trained(library):
    mode = mode_of(library)
    net = model(library)
    with mode:
        net(library.ones(2, 4, requires_grad=True)).sum().backward()
    return mode


EXPECTED = {
    "counts": {"c10d_functional.all_reduce": 2}, "total": 2,
    "sharding": {"Model.up.weight": "(Shard(dim=0),)", "Model.up.bias": "(Shard(dim=0),)",
                 "Model.down.weight": "(Shard(dim=1),)", "Model.down.bias": "(Replicate(),)"}}


def test_counts_and_layouts(torch):
    mode = trained(torch)
    assert counts(mode) == EXPECTED["counts"]
    assert mode.get_total_counts() == EXPECTED["total"]
    assert {name: str(value) for name, value in mode.get_sharding_info().items()} == EXPECTED["sharding"]
    parameters = mode.get_parameter_info()
    assert {name: list(found) for name, found in parameters.items()} == {
        "Model.up": ["weight", "bias"], "Model.down": ["weight", "bias"]}
    assert mode.get_comm_counts()[torch.ops.c10d_functional.all_reduce] == 2
    assert mode.get_comm_counts()[torch.ops.c10d_functional.reduce_scatter_tensor] == 0


def test_the_table_says_where(torch):
    mode = trained(torch)
    collectives = [line.strip() for line in lines(mode, 0)]
    assert collectives.count("*c10d_functional.all_reduce: 1") >= 4      # of both linears, and those around them
    place = collectives.index("Model.down")
    assert collectives[place:place + 3] == ["Model.down", "FORWARD PASS", "*c10d_functional.all_reduce: 1"]
    text = "\n".join(lines(mode, 1))
    assert "*module type: class 'torch.nn.modules.linear.Linear'" in text
    assert "sharding: [(Replicate(),), (Shard(dim=1),), (Shard(dim=0),)]" in text
    assert "**aten.relu.default" not in text
    assert "**aten.relu.default" in "\n".join(lines(mode, 2))
    assert len(lines(mode, 3)) > len(lines(mode, 2)) > len(lines(mode, 1))


def test_files(torch, tmp_path):
    mode = trained(torch)
    mode.log_comm_debug_tracing_table_to_file(str(tmp_path / "table.txt"), noise_level=0)
    assert (tmp_path / "table.txt").read_text().splitlines()[0] == "Global"
    mode.generate_json_dump(str(tmp_path / "dump.json"), noise_level=1)
    assert json.loads((tmp_path / "dump.json").read_text())


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_plain_collectives_are_counted_by_their_operators(torch):
    dist, x = torch.distributed, torch.ones(4, 2)
    with mode_of(torch) as mode:
        dist.all_reduce(x)
        dist.all_gather_into_tensor(torch.empty(8, 2), x)
        dist.reduce_scatter_tensor(torch.empty(2, 2), x)
        dist.broadcast(x, 0)
        dist.all_to_all_single(x, x.clone())
        dist.all_gather([x, x.clone()], x)
        with dist._coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(x)
    assert counts(mode) == {f"c10d.{name}": 1 for name in (
        "allreduce_", "_allgather_base_", "_reduce_scatter_base_", "broadcast_", "alltoall_base_", "allgather_",
        "allreduce_coalesced_")}
    dist.all_reduce(x)
    assert mode.get_total_counts() == 7


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_functional_collectives(torch):
    functional, x = module(torch, "distributed._functional_collectives"), torch.ones(4, 2)
    group = torch.distributed.group.WORLD
    with mode_of(torch) as mode:
        functional.all_reduce(x, "sum", group)
        functional.all_gather_tensor(x, 0, group)
        functional.reduce_scatter_tensor(x, "sum", 0, group)
        functional.all_reduce_coalesced([x, x], "sum", group)
        functional.all_to_all_single(x, None, None, group)
    assert counts(mode) == {f"c10d_functional.{name}": 1 for name in (
        "all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce_coalesced", "all_to_all_single")}


def test_collectives_as_operators(torch):
    x, name = torch.ones(4, 2), torch.distributed.group.WORLD.group_name
    functional = torch.ops._c10d_functional
    made = [functional.all_reduce(x, "sum", name), functional.all_gather_into_tensor(x, 2, name),
            functional.reduce_scatter_tensor(x, "sum", 2, name), functional.broadcast(x, 0, name),
            functional.all_to_all_single(x, [1, 3], [2, 2], name)]
    assert [list(functional.wait_tensor(each).shape) for each in made] == [[4, 2], [8, 2], [2, 2], [4, 2], [4, 2]]


def test_operators_of_groups():
    """torch's take a group in a box of TorchScript."""
    dist = ours.distributed
    dist.init_process_group("fake", store=dist.HashStore(), rank=1, world_size=2)
    group, x, out = dist.group.WORLD, ours.ones(4, 2), ours.empty(8, 2)
    (same,), work = ours.ops.c10d.allreduce_([x], group, dist.ReduceOp.SUM, None)
    work.wait()
    gathered, work = ours.ops.c10d._allgather_base_(out, x, group, False, -1)
    work.wait()
    assert same is x
    assert gathered is out
    assert list(ours.ops.c10d_functional.all_gather_into_tensor(x, "", [0, 1], 2).shape) == [8, 2]
    dist.destroy_process_group()
