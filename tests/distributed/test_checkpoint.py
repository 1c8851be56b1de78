"""torch.distributed.checkpoint: what torch writes is read here and the reverse, by other numbers of ranks."""
import importlib
import json
from pathlib import Path

import checkpoint_cases as cases
import pytest
import torch
import torch.distributed.checkpoint as torch_dcp
from ranks import run_once, run_ranks

import mindtorch
import mindtorch.distributed.checkpoint as dcp
from mindtorch.distributed.checkpoint import format_utils, planner_helpers
from mindtorch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch.distributed.checkpoint.planner import TensorWriteData, WriteItemType
from mindtorch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys

pytestmark = [pytest.mark.one_mode,
              pytest.mark.filterwarnings("ignore:torch.distributed is disabled")]     # of torch, with no_dist=True
LIBRARIES = {"mindtorch": (mindtorch, dcp), "torch": (torch, torch_dcp)}


def write(folder, library):
    checkpoint = str(folder / "checkpoint")
    run_ranks("checkpoint_cases:write", 2, folder, library, arguments=[checkpoint])
    return checkpoint


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """library -> the folder in which two ranks have written a checkpoint."""
    return {library: Path(run_once(tmp_path_factory, f"checkpoint_{library}", write, library)) for library in LIBRARIES}


@pytest.mark.parametrize(("writer", "reader"), [("torch", "mindtorch"), ("mindtorch", "torch"), ("mindtorch",) * 2])
def test_one_process_reads_what_two_ranks_have_written(folders, writer, reader):
    library, checkpoint = LIBRARIES[reader]
    assert {each.name for each in folders[writer].iterdir()} == {".metadata", "__0_0.distcp", "__1_0.distcp"}
    state = {**cases.blank(library), "rows": library.zeros(7, 5), "dtensor": library.zeros(5, 7)}
    checkpoint.load(state, checkpoint_id=str(folders[writer]), no_dist=True)
    assert state.pop("rows").tolist() == cases.whole(library).tolist()
    assert state.pop("dtensor").tolist() == cases.whole(library).t().tolist()
    assert cases.plain(state) == cases.plain(cases.objects(library))


def test_three_ranks_read_what_two_have_written(folders, tmp_path):
    parts = [each.tolist() for each in cases.whole(torch).tensor_split(3)]
    results = run_ranks("checkpoint_cases:read", 3, tmp_path,
                        arguments=[str(tmp_path), str(folders["torch"]), str(folders["mindtorch"])])
    for rank, (*loaded, staged, failures) in enumerate(results):
        for first, rows, distributed, state in loaded:
            assert distributed == cases.whole(torch).t().tolist()
            assert (first, rows) == ([0, 3, 5][rank], parts[rank])
            assert state == cases.plain(cases.objects(torch))
        assert staged == [1.0, 1.0]
        assert failures == {"1": "RuntimeError"}


def test_state_dict_helpers_have_the_results_of_torch(tmp_path):
    (other_model, *other) = cases.states(torch, 0, 1)
    for rank, (model, *own) in enumerate(run_ranks("checkpoint_cases:states", 2, tmp_path)):
        assert list(model) == list(other_model)
        for name, (dtype, shape, values) in model.items():
            assert [dtype, shape] == other_model[name][:2]
            torch.testing.assert_close(torch.tensor(values), torch.tensor(other_model[name][2]))
        if rank:
            assert own.pop(2) == []         # of what goes to the CPU the others have nothing
            own.insert(2, other[2])
        assert own == other, f"rank {rank}"
        assert own[3:] == [True, True]


def test_a_fully_sharded_network_comes_back(tmp_path):
    (_, model), *others = results = run_ranks("checkpoint_cases:fully_sharded", 2, tmp_path,
                                              arguments=[str(tmp_path / "saved")])
    assert [each for each, _ in results] == [[True, True]] * 2
    assert others[0][1] == model
    state = {"model": {name: torch.zeros(shape) for name, (_, shape, _) in model.items()}}
    torch_dcp.load(state, checkpoint_id=tmp_path / "saved", no_dist=True)
    assert cases.plain(state["model"]) == model


def test_files_of_torch_save_become_checkpoints_and_back(tmp_path):
    state = cases.objects(torch)
    torch.save(state, tmp_path / "file.pt")
    format_utils.torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "folder")
    format_utils.dcp_to_torch_save(tmp_path / "folder", tmp_path / "again.pt")
    assert cases.plain(torch.load(tmp_path / "again.pt", weights_only=False)) == cases.plain(state)
    loaded = {"nested": {"a": torch.zeros(2, 3, dtype=torch.int64)}}
    torch_dcp.load(loaded, checkpoint_id=tmp_path / "folder", no_dist=True)
    assert loaded["nested"]["a"].tolist() == state["nested"]["a"].tolist()
    with pytest.warns(UserWarning, match="this process"):
        some = _load_state_dict_from_keys({"nested", "text"}, checkpoint_id=tmp_path / "folder")
    assert cases.plain(some) == {key: cases.plain(state)[key] for key in ("text", "nested")}


def test_stateful_objects_devices_and_threads(tmp_path, device):
    mindtorch.manual_seed(0)
    net = mindtorch.nn.Linear(3, 2).to(device)
    optimizer = mindtorch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(mindtorch.ones(1, 3, device=device)).sum().backward()
    optimizer.step()
    writer = dcp.FileSystemWriter(tmp_path, thread_count=3, sync_files=False)
    dcp.save({"net": net, "optimizer": optimizer}, storage_writer=writer, no_dist=True)
    assert len(list(tmp_path.glob("*.distcp"))) == 3
    before = {name: value.tolist() for name, value in net.state_dict().items()}
    with mindtorch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    dcp.load({"net": net, "optimizer": optimizer}, checkpoint_id=tmp_path, no_dist=True)
    assert {name: value.tolist() for name, value in net.state_dict().items()} == before
    meta = {"net": {"weight": mindtorch.empty(2, 3, device="meta")}}
    dcp.load(meta, checkpoint_id=tmp_path, no_dist=True)
    assert meta["net"]["weight"].tolist() == before["weight"]


@pytest.mark.parametrize(("state", "message"), [
    ({"x": mindtorch.zeros(3)}, "Size mismatch"), ({"y": mindtorch.zeros(2)}, "Missing key in checkpoint state_dict"),
    ({"x": 3}, "Invalid checkpoint metadata for x")])
def test_a_state_that_does_not_fit_is_an_error(tmp_path, state, message):
    dcp.save({"x": mindtorch.zeros(2)}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match=message):
        dcp.load(state, checkpoint_id=tmp_path, no_dist=True)


def test_a_checkpoint_is_written_over_only_if_that_is_wanted(tmp_path):
    dcp.save({"x": mindtorch.zeros(2)}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.warns(UserWarning, match="existing checkpoint"):
        dcp.save({"x": mindtorch.ones(2)}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="already exists"):
        dcp.save({}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False), no_dist=True)
    partial = {"x": mindtorch.zeros(2), "other": 5}
    dcp.load(partial, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True), no_dist=True)
    assert (partial["x"].tolist(), partial["other"]) == ([1, 1], 5)


def chunk(*bounds):
    return ChunkStorageMetadata(mindtorch.Size([low for low, _ in bounds]),
                                mindtorch.Size([high - low for low, high in bounds]))


def test_a_part_is_read_from_all_saved_parts_that_it_meets():
    saved = TensorStorageMetadata(TensorProperties(), mindtorch.Size([4, 6]),
                                  [chunk((0, 2), (0, 6)), chunk((2, 4), (0, 3)), chunk((2, 4), (3, 6))])
    items = planner_helpers.create_read_items_for_chunk_list("x", saved, [chunk((1, 3), (2, 5))])
    assert [(item.storage_index.index, *map(tuple, (item.storage_offsets, item.dest_offsets, item.lengths)))
            for item in items] == [
                (0, (1, 2), (0, 0), (1, 3)), (1, (0, 2), (1, 0), (1, 1)), (2, (0, 0), (1, 1), (1, 2))]


@pytest.mark.parametrize(("chunks", "message"), [
    ([chunk((0, 3)), chunk((2, 4))], "overlapping"), ([chunk((0, 2)), chunk((2, 5))], "out of bounds"),
    ([chunk((0, 2))], "invalid fill")])
def test_parts_that_are_not_the_tensor_are_an_error(chunks, message):
    planner = dcp.DefaultSavePlanner(flatten_state_dict=False)
    data = [TensorWriteData(each, TensorProperties(), mindtorch.Size([4])) for each in chunks]
    items = [dcp.WriteItem(MetadataIndex("x", each.chunk.offsets), WriteItemType.SHARD, tensor_data=each)
             for each in data]
    plans = [dcp.SavePlan([item]) for item in items]
    with pytest.raises(ValueError, match=message):
        planner.create_global_plan([*plans, dcp.SavePlan([])])


@pytest.mark.parametrize("library", ["mindtorch", "torch"])
def test_elements_of_nested_states(library):
    library = importlib.import_module(library)
    traverse = importlib.import_module(f"{library.__name__}.distributed.checkpoint._traverse")
    state = {"a": [0, 1], "b": [2, {"c": library.ones(1)}], "e": {1: (3, 4)}}
    found = {}
    traverse.traverse_state_dict(state, found.__setitem__)
    assert list(found) == [("a",), ("b", 0), ("b", 1, "c"), ("e", "1")]
    assert traverse.get_element(state, ("b", 1, "c")) is state["b"][1]["c"]
    assert traverse.get_element(state, ("a", 3), "none") == "none"
    assert traverse.get_element(state, ("a", "b")) is None
    traverse.set_element(state, ("f", 1, "g"), 5)
    assert state["f"] == [None, {"g": 5}]


@pytest.mark.parametrize(("writer", "reader"), [("torch", "mindtorch"), ("mindtorch", "torch")])
@pytest.mark.parametrize("options", [{}, {"fqn_to_index_mapping": {"a": 1, "half": 2, "bits": 1, "empty": 2}},
                                     {"save_distributed": True}])
def test_safetensors_files_of_both_libraries(tmp_path, writer, reader, options):
    def state(torch):
        return {"a": torch.arange(6.0).reshape(2, 3), "half": torch.arange(3).to(torch.bfloat16),
                "bits": torch.tensor([True, False]), "empty": torch.zeros(0, 2)}
    (their_library, theirs), (library, checkpoint) = LIBRARIES[writer], LIBRARIES[reader]
    theirs.save(state(their_library), storage_writer=theirs.HuggingFaceStorageWriter(str(tmp_path), **options),
                no_dist=True)
    found = {name: library.ones_like(value) for name, value in state(library).items()}
    checkpoint.load(found, storage_reader=checkpoint.HuggingFaceStorageReader(str(tmp_path)), no_dist=True)
    assert cases.plain(found) == cases.plain(state(library))
    index = tmp_path / "model.safetensors.index.json"
    files = {each.name for each in tmp_path.iterdir()} - {index.name}
    assert len(files) == 1 + ("fqn_to_index_mapping" in options)
    if index.exists():
        assert set(json.loads(index.read_text())["weight_map"].values()) == files


def test_shards_in_safetensors_files(tmp_path):
    """Two ranks write theirs; one process of torch reads the whole."""
    run_ranks("checkpoint_cases:write_safetensors", 2, tmp_path, arguments=[str(tmp_path / "saved")])
    state = {"rows": torch.zeros(7, 5)}
    torch_dcp.load(state, storage_reader=torch_dcp.HuggingFaceStorageReader(str(tmp_path / "saved")), no_dist=True)
    assert state["rows"].tolist() == cases.whole(torch).tolist()


def test_what_safetensors_files_do_not_have(tmp_path):
    with pytest.raises(dcp.CheckpointException, match="number is no tensor"):
        dcp.save({"number": 1}, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path), no_dist=True)
    with pytest.raises(NotImplementedError, match="does not join the files of ranks"):
        dcp.HuggingFaceStorageWriter(tmp_path, enable_consolidation=True)


def test_ranks_read_a_file_of_torch_save(tmp_path):
    layer = torch.nn.Linear(5, 3)
    torch.save({"net": layer.state_dict()}, tmp_path / "layer.pt")
    expected = [*(value.tolist() for value in layer.state_dict().values()), True]
    results = run_ranks("checkpoint_cases:read_file", 2, tmp_path, arguments=[str(tmp_path / "layer.pt")])
    assert results == [expected] * 2
