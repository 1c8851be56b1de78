"""DeviceMesh on the engine "fake", in one process, beside torch."""
import importlib
import re

import pytest
import torch
from torch.testing._internal.distributed.fake_pg import FakeStore

import mindtorch
from mindtorch.distributed._fake import FakeStore as OwnFakeStore

EXPRESSIONS = """
m
m.mesh.tolist()
m.shape, m.ndim, m.size(), m.size(0), m.mesh_dim_names, m.device_type
m.get_rank(), m.get_coordinate(), m.get_local_rank("tp")
m.get_local_rank()
m.get_group()
m["tp"], m["dp", "tp"], m["tp"].get_local_rank(), m["tp"].mesh.tolist(), m["tp"].mesh_dim_names
m["dp", "tp"].get_group()
m["dp", "tp"]._flatten("dptp")
m["dptp"].mesh.tolist()
m["pp", "dptp"], m["pp", "dptp"].mesh.tolist(), m["pp", "dptp"].get_group("dptp") is m["dptp"].get_group()
m["dptp", "pp"]
m["dptp", "tp"]
m["tp", "tp"]
m["x"]
m["tp", "dp"]
len(m.get_all_groups())
dist.get_process_group_ranks(m.get_group("pp")), m.get_group("pp").group_desc
m == init("cpu", (2, 2, 2), mesh_dim_names=("pp", "dp", "tp"))
m == init("cpu", (2, 2, 2))
m["tp"]._get_root_mesh() is m
init("cpu", (3,))
init("cpu", (2, 4), mesh_dim_names=("a", "a"))
init("cpu", (2, 4), mesh_dim_names=("a",))
init("cpu:0", (8,))
init("cpu", (16,))
init("cpu", (8,))["x"]
Mesh("cpu", [0, 5, 2, 3]).get_local_rank()
Mesh("cpu", [0, 1]).get_coordinate()
Mesh.from_group(dist.group.WORLD, "cpu").get_group() is dist.group.WORLD
Mesh.from_group([m.get_group("dp"), m.get_group("tp")], "cpu", mesh=[[4, 5], [6, 7]], mesh_dim_names=("dp", "tp"))
Mesh.from_group([], "cpu")
init("cpu", (8,)).get_group() is dist.group.WORLD
m.get_group(0) is m.get_group("pp")
m._flatten("all").get_group() is dist.group.WORLD, m._flatten(), m["dp", "tp"]._flatten()
m._unflatten(2, (2, 1), ("u", "v")).shape
m._concatenate([m["dp"], m["tp"]]), m._concatenate([m["tp"], m["dp"]]).mesh.tolist()
m._concatenate([m["pp", "dp"]._flatten("fsdp"), m["tp"]]).mesh.tolist()
m._concatenate([m["tp"], m["tp"]])
m.__enter__() is m, m.__exit__(None, None, None)
""".strip().splitlines()


def results(library, store):
    """What each expression gives, or its error."""
    dist = library.distributed
    dist.init_process_group("fake", rank=5, world_size=8, store=store())
    try:
        mesh = importlib.import_module(f"{library.__name__}.distributed.device_mesh")
        m = mesh.init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pp", "dp", "tp"))
        names = {"m": m, "dist": dist, "init": mesh.init_device_mesh, "Mesh": mesh.DeviceMesh}
        return {expression: result(expression, names) for expression in EXPRESSIONS}
    finally:
        dist.destroy_process_group()


def result(expression, names):
    try:
        return repr(eval(expression, names))
    except (RuntimeError, KeyError, ValueError) as error:
        return repr(error)


@pytest.fixture(scope="module")
def both():
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return results(mindtorch, OwnFakeStore), results(torch, FakeStore)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_mesh_answers_as_torch_does(both, expression):
    ours, theirs = (re.sub("0x[0-9a-f]+", "", each[expression]) for each in both)
    assert ours == theirs


@pytest.mark.parametrize("name", ["tensor.device_mesh", "_tensor.device_mesh", "_tensor.experimental"])
def test_older_names_of_modules(name):
    older = importlib.import_module(f"mindtorch.distributed.{name}")
    place = "tensor.experimental" if "experimental" in name else "device_mesh"
    newer = importlib.import_module(f"mindtorch.distributed.{place}")
    for each in newer.__all__:
        assert getattr(older, each) is getattr(newer, each)
