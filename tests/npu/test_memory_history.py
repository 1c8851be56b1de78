"""Recorded memory history and snapshots: their schema, their order, and PyTorch's own viewer reading them."""
import os
import pickle
import pickletools
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from process import run

import mindtorch as torch
from mindtorch import npu, sim

MIB = 1 << 20
memory = npu.memory


@pytest.fixture(autouse=True)
def _recorder_off():
    npu.synchronize()
    npu.empty_cache()
    yield
    memory._record_memory_history(None)


def take(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device="npu")


def events():
    return memory._snapshot()["device_traces"][0]


def actions():
    return [event["action"] for event in events()]


def test_order_of_events():
    memory._record_memory_history()
    block = take(1000)
    pointer = block.data_ptr()
    del block
    npu.empty_cache()
    trace = events()
    assert [event["action"] for event in trace] == ["segment_alloc", "alloc", "free_requested", "free_completed",
                                                    "segment_free"]
    assert [event["size"] for event in trace] == [2 * MIB, 1000, 1000, 1000, 2 * MIB]
    assert trace[1]["addr"] == pointer
    assert {event["stream"] for event in trace} == {npu.current_stream().npu_stream}
    assert {event["pool_id"] for event in trace} == {(0, 0)}
    assert all(event["frames"][0].keys() == {"name", "filename", "line"} for event in trace[:4])


def test_frames_name_the_python_code():
    memory._record_memory_history()
    block = take(1000)
    frame = events()[-1]["frames"][0]
    assert (frame["name"], frame["filename"]) == ("take", __file__)
    segment = memory._snapshot()["segments"][0]
    live = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
    assert live[0]["frames"][0]["name"] == segment["frames"][0]["name"] == "take"
    assert block is not None


def test_the_last_events_are_kept():
    memory._record_memory_history(max_entries=3)
    kept = [take(1000) for _ in range(5)]
    assert [event["addr"] for event in events()] == [tensor.data_ptr() for tensor in kept[2:]]


@pytest.mark.parametrize(("context", "of_alloc", "of_free"), [
    ("all", True, True), ("alloc", True, True), ("state", False, False), (None, False, False)])
def test_what_keeps_frames(context, of_alloc, of_free):
    memory._record_memory_history(context=context)
    block = take(1000)
    segment = memory._snapshot()["segments"][0]
    assert bool(segment["blocks"][0]["frames"]) == (context is not None)
    del block
    by_action = {event["action"]: "frames" in event for event in events()}
    assert (by_action["alloc"], by_action["free_requested"]) == (of_alloc, of_free)


def test_state_alone_and_nothing():
    memory._record_memory_history("state")
    kept = [take(1000) for _ in range(4)]
    assert len(events()) == 1
    assert memory._snapshot()["segments"][0]["blocks"][3]["frames"]
    memory._record_memory_history(None)
    assert memory._snapshot()["device_traces"] == [[]] * npu.device_count()
    kept.clear()                                      # blocks with frames, freed when nothing is recorded any more
    assert npu.memory_snapshot()[0]["blocks"][0]["frames"] == []


def test_a_recorded_free_keeps_the_error_of_the_operator():
    """The operator fails after the allocation of its result, so the result is freed while the error is set."""
    operand = take(1000)
    memory._record_memory_history()
    with sim.fault("aclnnMulGetWorkspaceSize"), pytest.raises(RuntimeError, match="aclnnMulGetWorkspaceSize failed"):
        operand * operand
    assert actions() == ["alloc", "free_requested", "free_completed"]


def test_out_of_memory_is_an_event():
    memory._record_memory_history()
    total = npu.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError):
        take(2 * total)
    event = events()[-1]
    assert event["action"] == "oom"
    assert "addr" not in event
    assert event["device_free"] == npu.mem_get_info()[0]
    assert event["size"] == 2 * total + 512


def test_a_block_that_waits_for_a_stream():
    memory._record_memory_history()
    stream = npu.Stream()
    matrix = torch.ones((600, 600), device="npu")
    stream.wait_stream(npu.current_stream())
    block = take(5000)
    with npu.stream(stream):
        for _ in range(8):
            matrix = matrix @ matrix
    block.record_stream(stream)
    del block
    waiting = [b for segment in npu.memory_snapshot() for b in segment["blocks"] if b["state"] == "active_pending_free"]
    assert [b["requested_size"] for b in waiting] == [5000]
    assert actions()[-1] == "free_requested"
    npu.synchronize()
    take(100)
    assert "free_completed" in actions()


def test_a_snapshot_is_an_event_of_the_next_one():
    memory._record_memory_history()
    kept = take(1000)
    first = memory._snapshot()
    assert "snapshot" not in [event["action"] for event in first["device_traces"][0]]
    event = events()[-1]
    assert (event["action"], event["addr"], event["size"]) == ("snapshot", 0, 1536)
    assert kept is not None


def test_segments_add_up():
    kept = [take(nbytes) for nbytes in (100, 5000, 3 * MIB, 15 * MIB)]
    del kept[1]
    for segment in npu.memory_snapshot():
        assert segment.keys() == {"device", "address", "total_size", "allocated_size", "active_size", "requested_size",
                                  "stream", "segment_pool_id", "segment_type", "is_expandable", "frames", "blocks"}
        at = segment["address"]
        for block in segment["blocks"]:
            assert block.keys() == {"address", "size", "requested_size", "state", "frames"}
            assert block["address"] == at
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]
        allocated = [block["size"] for block in segment["blocks"] if block["state"] == "active_allocated"]
        assert segment["allocated_size"] == sum(allocated)


@pytest.mark.parametrize(("options", "message"), [
    ({"enabled": "on"}, "expected enabled to be 'state', 'all', or None"),
    ({"context": "some"}, "expected context to be 'state', 'alloc', 'all', or None"),
    ({"stacks": "c"}, "expected stacks to be 'python', 'all'"),
])
def test_options(options, message):
    with pytest.raises(RuntimeError, match=message):
        memory._record_memory_history(**options)


def viewer(*arguments):
    """PyTorch's own torch/cuda/_memory_viz.py, which needs nothing of torch."""
    script = Path(find_spec("torch").origin).parent / "cuda" / "_memory_viz.py"
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=True,
                          env=dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0")).stdout


def test_pytorch_s_viewer_reads_the_file(tmp_path):
    memory._record_memory_history()
    kept = [take(nbytes) for nbytes in (100, 3 * MIB, 40 * MIB)]
    del kept[1]
    file = tmp_path / "snapshot.pickle"
    memory._dump_snapshot(file)
    opcodes = {opcode.name: argument for opcode, argument, _ in pickletools.genops(file.read_bytes())}
    assert opcodes["PROTO"] <= 4
    assert not opcodes.keys() & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "NEWOBJ", "BINBYTES", "FRAME8"}
    assert pickle.loads(file.read_bytes()).keys() == {"segments", "device_traces"}
    assert "total_reserved: 64.0MiB" in viewer("stats", file)
    assert "cudaMalloc" in viewer("trace", file)
    for plot in ("trace_plot", "segment_plot"):
        page = tmp_path / f"{plot}.html"
        viewer(plot, file, "-o", page)
        assert page.stat().st_size > 1000


def test_flame_graphs_of_memory(tmp_path):
    memory._record_memory_history()
    kept = [take(1000), take(3 * MIB), take(30 * MIB)]
    del kept[1]
    snapshot = npu.memory_snapshot()
    for name, given in (("segment", None), ("segment", snapshot), ("memory", {"segments": snapshot})):
        file = tmp_path / "picture.svg"
        getattr(memory, f"_save_{name}_usage")(file, given)
        boxes = list(ElementTree.parse(file).getroot())
        titles = [box[0].text for box in boxes]
        total = npu.memory_reserved() if name == "segment" else npu.memory_allocated()
        assert titles[0] == f"all: {total} bytes, 100.00 %"
        assert any(title.startswith("active_allocated: ") for title in titles)
        assert any(f"{__file__}:" in title and ":take: " in title for title in titles)
        assert any(title.startswith("inactive: ") for title in titles) == (name == "segment")
        rows = {}
        for _, rect, _ in boxes:
            rows.setdefault(rect.get("y"), []).append(float(rect.get("width")))
        assert all(sum(widths) <= 1200.1 for widths in rows.values())
        assert rows["0"] == [1200]
    memory._save_memory_usage(file, [])
    assert len(ElementTree.parse(file).getroot()) == 0


@pytest.mark.parametrize(("chosen", "actions"), [("1", ["segment_alloc", "alloc", "oom"]), ("2", ["oom"])])
def test_a_snapshot_is_written_when_memory_runs_out(chosen, actions, tmp_path):
    run("""
import mindtorch as torch
kept = torch.empty(1000, dtype=torch.uint8, device="npu")
try:
    torch.empty(2 * torch.npu.mem_get_info()[1], dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError:
    pass
else:
    raise AssertionError
""", OOM_SNAPSHOT_ENABLE=chosen, OOM_SNAPSHOT_PATH=str(tmp_path))
    file, = tmp_path.iterdir()
    assert re.fullmatch(r"oom_snapshot_\d+_\d{14}\.pickle", file.name)
    snapshot = pickle.loads(file.read_bytes())
    assert [event["action"] for event in snapshot["device_traces"][0]] == actions
    assert snapshot["segments"][0]["blocks"][0]["frames"][0]["name"] == "<module>"


@pytest.mark.parametrize(("environment", "said"), [
    ({"OOM_SNAPSHOT_ENABLE": "3"}, "ValueError: OOM_SNAPSHOT_ENABLE must be 0, 1 or 2, got 3"),
    ({"OOM_SNAPSHOT_ENABLE": "1", "OOM_SNAPSHOT_PATH": "/no/such/folder"}, "RuntimeWarning: no snapshot of the")])
def test_a_snapshot_that_cannot_be_written(environment, said):
    done = run("""
import traceback
import mindtorch as torch
for _ in range(2):
    try:
        torch.empty(1 << 44, dtype=torch.uint8, device="npu")
    except (torch.OutOfMemoryError, ValueError):
        traceback.print_exc()
    else:
        raise AssertionError
""", **environment)
    assert said in done.stderr


def test_nothing_is_started_for_a_snapshot():
    run("""
import mindtorch as torch
assert torch.npu.memory_snapshot() == []
assert torch.npu.memory._snapshot() == {"segments": [], "device_traces": []}
assert not torch.npu.is_initialized()
""")


def test_what_lives_to_the_end_is_freed_without_a_word():
    """No Python frame is left by then, although the history asks for those of frees."""
    assert "Traceback" not in run("""
import mindtorch as torch
torch.npu.memory._record_memory_history()
kept = torch.ones(3, device="npu")
""").stderr
