"""Graphs: what is captured, what a replay does, whose memory it is, and what a capture does not bear."""
import contextlib
import copy
import gc
import json
import sys
import threading
from pathlib import Path

import pytest
from blocked import blocked
from process import run

import mindtorch as torch
from mindtorch import nn, npu, sim

MIB = 1 << 20


@pytest.fixture(autouse=True, scope="module")
def _capture_stream():
    """The stream that all graphs have in common stays for the life of the process."""
    npu.graph(npu.NPUGraph())


@pytest.fixture(autouse=True)
def _clean_cache():
    npu.synchronize()
    npu.empty_cache()


def ones(*sizes):
    return torch.ones(sizes, device="npu")


def captured(work, **options):
    """A graph of `work`, and what it returned."""
    graph = npu.NPUGraph()
    with npu.graph(graph, **options):
        result = work()
    return graph, result


def capture(graph, x):
    graph.capture_begin()
    x.add_(1)
    graph.capture_end()


def pool_ids():
    return {segment["segment_pool_id"] for segment in npu.memory_snapshot()}


# Capture and replay

def test_nothing_is_done_before_the_replay():
    x = torch.zeros(4, device="npu")
    graph, y = captured(lambda: x.add_(1) * 2)
    assert x.tolist() == [0] * 4
    for times in (1, 2):
        graph.replay()
        assert x.tolist() == [times] * 4
        assert y.tolist() == [2 * times] * 4
    x.copy_(torch.arange(4.0))
    graph.replay()
    assert y.tolist() == [2, 4, 6, 8]
    graph.reset()


def test_replays_on_the_current_stream():
    x = ones(3)
    graph, _ = captured(lambda: x.mul_(2))
    stream = npu.Stream()
    with blocked(stream), npu.stream(stream):
        graph.replay()
        assert not stream.query()
    assert x.tolist() == [2] * 3


def test_capturing_is_known():
    stream = npu.Stream()
    graph = npu.NPUGraph()
    assert not npu.is_current_stream_capturing()
    with npu.stream(stream):
        graph.capture_begin()
        assert npu.is_current_stream_capturing()
        assert stream.is_capturing()
        assert not npu.default_stream().is_capturing()
        graph.capture_end()
        assert not npu.is_current_stream_capturing()
    graph.replay()


def test_streams_join_and_come_back():
    x, other = ones(5), npu.Stream()
    inside = []

    def work():
        y = x + 1
        other.wait_stream(npu.current_stream())
        with npu.stream(other):
            inside.append(other.is_capturing())
            z = (y @ y).reshape(1).expand(5) + y      # with a workspace of this stream's own
        npu.current_stream().wait_stream(other)
        return y + z

    graph, result = captured(work)
    assert inside == [True]
    assert not other.is_capturing()
    x.fill_(2)
    graph.replay()
    assert result.tolist() == [45 + 3 + 3] * 5


def test_copies_from_and_to_pinned_memory():
    source, target = torch.arange(6.0).pin_memory(), torch.zeros(6).pin_memory()
    x = torch.zeros(6, device="npu")

    def work():
        x.copy_(source, non_blocking=True)
        target.copy_(x * 2, non_blocking=True)

    graph, _ = captured(work)
    source += 1
    graph.replay()
    npu.synchronize()
    assert target.tolist() == [2, 4, 6, 8, 10, 12]


def test_numbers_from_the_host_are_captured():
    graph, y = captured(lambda: torch.tensor([1.5, 2.5], device="npu") + torch.tensor(1.0))
    torch.tensor([9.0, 9.0], device="npu")           # which takes no pinned block of the graph
    graph.replay()
    assert y.tolist() == [2.5, 3.5]


def test_the_dump_names_the_tasks(tmp_path):
    x = ones(3)
    graph, _ = captured(lambda: x.add_(1).mul_(2))
    graph.debug_dump(tmp_path / "graph.json")
    tasks = json.loads((tmp_path / "graph.json").read_text())["tasks"]
    assert [task["name"] for task in tasks] == ["aclnnInplaceAdds", "aclnnInplaceMuls"]


# A training step

def make_optimizer(kind, parameters):
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    return torch.optim.Adam(parameters, lr=0.05, capturable=True, **{kind: True})


@pytest.mark.parametrize("kind", ["sgd", "foreach", "fused"])
def test_a_training_step(kind):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).npu()
    twin = copy.deepcopy(model)
    data = [(torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1])) for _ in range(7)]
    x, target = data[0][0].npu(), data[0][1].npu()
    optimizer = make_optimizer(kind, model.parameters())
    expected = make_optimizer(kind, twin.parameters())

    def step(network, steps, inputs, labels, to_none=True):
        steps.zero_grad(set_to_none=to_none)
        loss = nn.functional.cross_entropy(network(inputs), labels)
        loss.backward()
        steps.step()
        return loss

    aside = npu.Stream()
    aside.wait_stream(npu.current_stream())
    with npu.stream(aside):                          # the state of the optimizer comes into being
        for inputs, labels in data[:3]:
            x.copy_(inputs)
            target.copy_(labels)
            step(model, optimizer, x, target)
    npu.current_stream().wait_stream(aside)
    graph, loss = captured(lambda: step(model, optimizer, x, target))
    losses, eager = [], []
    for number, (inputs, labels) in enumerate(data):
        if number >= 3:
            x.copy_(inputs)
            target.copy_(labels)
            graph.replay()
            losses.append(loss.item())
        eager.append(step(twin, expected, inputs.npu(), labels.npu()).item())
    assert losses == eager[3:]
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        assert torch.equal(ours.grad, theirs.grad)


def test_make_graphed_callables():
    torch.manual_seed(3)
    first, second = nn.Linear(4, 4).npu(), nn.Sequential(nn.Linear(4, 4), nn.Tanh()).npu()
    plain = copy.deepcopy(first), copy.deepcopy(second)
    sample = torch.randn(3, 4, device="npu", requires_grad=True)
    graphed = npu.make_graphed_callables((first, second), ((sample,), (torch.randn_like(sample).requires_grad_(),)))
    for _ in range(2):
        ours = torch.randn(3, 4, device="npu", requires_grad=True)
        theirs = ours.detach().clone().requires_grad_()
        graphed[1](graphed[0](ours)).square().sum().backward()
        plain[1](plain[0](theirs)).square().sum().backward()
        assert torch.equal(ours.grad, theirs.grad)
        for mine, other in zip([*first.parameters(), *second.parameters()],
                               [*plain[0].parameters(), *plain[1].parameters()], strict=True):
            assert torch.equal(mine.grad, other.grad)
    first.eval()                                     # captured in training: the module's own forward
    assert torch.equal(first(sample), plain[0](sample))


def test_a_graphed_function_keeps_the_structure_of_its_results():
    double = npu.make_graphed_callables(lambda x: {"twice": x * 2, "same": (x + 0,)}, (ones(3),))
    results = double(torch.arange(3.0, device="npu"))
    assert results["twice"].tolist() == [0, 2, 4]
    assert results["same"][0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("spoil", "error"), [
    (lambda module: module.register_forward_hook(print), AssertionError),
    (lambda module: module.register_buffer("b", torch.ones(1, requires_grad=True)), AssertionError)])
def test_modules_that_cannot_be_graphed(spoil, error):
    module = nn.Linear(2, 2).npu()
    spoil(module)
    with pytest.raises(error, match=r"Modules? "):
        npu.make_graphed_callables(module, (ones(2, 2),))
    with pytest.raises(TypeError, match="must contain only Tensors"):
        npu.make_graphed_callables(nn.Linear(2, 2), (3,))


# Memory

def test_memory_is_the_graphs_until_its_reset():
    x = ones(1000)
    graph, y = captured(lambda: (x + 1) * 2)
    assert graph.pool()[1] == 0
    assert graph.pool() in pool_ids()
    address = y.data_ptr()
    pool = graph.pool()
    del y
    npu.empty_cache()
    assert pool in pool_ids()
    taken = [torch.empty(1000, device="npu") for _ in range(50)]
    assert address not in [tensor.data_ptr() for tensor in taken]
    graph.replay()
    graph.reset()
    assert pool not in pool_ids()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def test_results_outlive_the_graph():
    x = ones(1000)
    graph, y = captured(lambda: x + 1)
    graph.replay()
    pool = graph.pool()
    del graph
    assert pool in pool_ids()
    assert y.sum().item() == 2000
    del y
    npu.synchronize()
    npu.empty_cache()
    assert pool not in pool_ids()


def test_graphs_share_a_pool():
    pool = npu.graph_pool_handle()
    assert pool[0] == 0
    x = ones(MIB)
    first, y = captured(lambda: torch.sum(x + 1), pool=pool)
    reserved = npu.memory_reserved()
    second, z = captured(lambda: torch.sum(y + x * 2), pool=first.pool())
    assert second.pool() == first.pool() == pool
    assert npu.memory_reserved() == reserved          # what the first has freed serves the second
    first.replay()
    second.replay()
    assert (y.item(), z.item()) == (2 * MIB, MIB * (2 * MIB + 2))
    first.reset()
    assert pool in pool_ids()
    second.replay()
    second.reset()
    assert (y.item(), z.item()) == (2 * MIB, MIB * (2 * MIB + 2))


def test_other_streams_and_threads_keep_their_memory():
    graph, stream, found = npu.NPUGraph(), npu.Stream(), []
    with npu.stream(stream):
        graph.capture_begin(capture_error_mode="thread_local")
        inside = torch.empty(1000, device="npu")
        thread = threading.Thread(target=lambda: found.append(ones(1000) + 1))
        thread.start()
        thread.join()
        graph.capture_end()
    assert found[0].sum().item() == 2000
    assert pool_ids() == {(0, 0), graph.pool()}
    assert inside is not None


def test_workspaces_are_the_graphs():
    x = ones(64, 64)
    before = (x @ x).sum()                            # the stream's own workspace, which others use after the capture
    stream = npu.Stream()
    stream.wait_stream(npu.current_stream())
    with npu.stream(stream):
        y = (x @ x).softmax(1)
    graph, z = captured(lambda: (x @ x).softmax(1), stream=stream)
    npu.synchronize()
    npu.empty_cache()
    with npu.stream(stream):
        again = (x @ x).softmax(1)
        graph.replay()
    npu.synchronize()
    assert torch.equal(y, z)
    assert torch.equal(y, again)
    assert before.item() == 64 ** 3


def test_caches_stay_as_they_are_during_a_capture():
    torch.empty(5 * MIB, device="npu")
    graph, x = npu.NPUGraph(), ones(10)
    with npu.stream(npu.Stream()):
        graph.capture_begin()
        reserved = npu.memory_reserved()
        npu.empty_cache()
        npu.host_empty_cache()
        assert npu.memory_reserved() == reserved
        x.add_(1)
        graph.capture_end()
    graph.replay()
    npu.empty_cache()
    assert npu.memory_reserved() < reserved
    assert x.sum().item() == 20


def test_memory_that_other_streams_use_is_freed_after_the_capture():
    graph, other = npu.NPUGraph(), npu.Stream()
    with npu.stream(npu.Stream()):
        graph.capture_begin()
        x = torch.empty(1000, device="npu")
        x.record_stream(other)
        del x
        torch.empty(1000, device="npu")
        active = npu.memory_stats()["active.all.current"]
        graph.capture_end()
    torch.empty(1000, device="npu")
    npu.synchronize()
    torch.empty(1000, device="npu")
    assert npu.memory_stats()["active.all.current"] < active


def test_running_out_of_memory_does_not_spoil_the_capture():
    torch.empty(5 * MIB, device="npu")                # cached, and not given back for it
    graph, x = npu.NPUGraph(), ones(10)
    with npu.stream(npu.Stream()):
        graph.capture_begin()
        synchronised = npu.memory_stats()["num_sync_all_streams"]
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1 << 50, device="npu")
        assert npu.memory_stats()["num_sync_all_streams"] == synchronised
        x.add_(1)
        graph.capture_end()
    graph.replay()
    assert x.tolist() == [2] * 10


def test_a_graph_that_dies_during_a_capture_is_reset_after_it():
    x = ones(10)
    old, y = captured(lambda: x + 1)
    pool = old.pool()
    graph = npu.NPUGraph()
    with npu.graph(graph):
        del old, y
        x.add_(1)
        assert sim.live_objects()["graph"] == 2
    assert sim.live_objects()["graph"] == 1
    npu.empty_cache()
    assert pool not in pool_ids()
    graph.replay()
    assert x.tolist() == [2] * 10


# What is refused

def test_order_of_calls():
    graph, stream = npu.NPUGraph(), npu.Stream()
    for call in (graph.replay, graph.pool, lambda: graph.debug_dump("graph.json")):
        with pytest.raises(RuntimeError, match="without a preceding successful capture"):
            call()
    with pytest.raises(RuntimeError, match="NPU graphs must be captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="needs a capture_begin"):
        graph.capture_end()
    graph.reset()
    with npu.stream(stream):
        with pytest.raises(RuntimeError, match="Unknown capture error mode"):
            graph.capture_begin(capture_error_mode="lax")
        with pytest.raises(TypeError, match="pair of ints"):
            graph.capture_begin(pool=3)
        graph.capture_begin()
        with pytest.raises(RuntimeError, match="already owns a captured graph"):
            graph.capture_begin()
        with pytest.raises(RuntimeError, match="already"):
            npu.NPUGraph().capture_begin()
        with pytest.raises(RuntimeError, match="while it is being captured"):
            graph.reset()
        with npu.stream(npu.Stream()), pytest.raises(RuntimeError, match="same stream it began on"):
            graph.capture_end()
        graph.capture_end()
        with pytest.raises(RuntimeError, match="already owns a captured graph"):
            graph.capture_begin()
        graph.reset()
        graph.capture_begin()
        graph.capture_end()


def test_the_thread_that_began_ends():
    graph, stream, x, errors = npu.NPUGraph(), npu.Stream(), ones(3), []

    def end():
        npu.set_stream(stream)
        try:
            graph.capture_end()
        except RuntimeError as error:
            errors.append(str(error))

    with npu.stream(stream):
        graph.capture_begin()
        x.add_(1)
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
        assert "107038" in errors[0]
        assert npu.is_current_stream_capturing()
        graph.capture_end()
    graph.replay()
    assert x.tolist() == [2] * 3


def pinned_and_waited_for(x):
    x.copy_(torch.ones(10).pin_memory())


WAITS = {
    "item": lambda x: x.sum().item(),
    "nonzero": lambda x: x.nonzero(),
    "masked": lambda x: x[x > 0],
    "to the host": lambda x: x.cpu(),
    "blocking copy": pinned_and_waited_for,
    "large copy from pageable memory": lambda x: torch.zeros(MIB).npu(),
    "synchronize": lambda x: npu.synchronize(),
    "synchronize stream": lambda x: npu.current_stream().synchronize(),
    "query stream": lambda x: npu.current_stream().query(),
    "query event": lambda x: npu.current_stream().record_event().query(),
}


@pytest.mark.parametrize("name", WAITS)
def test_waiting_is_refused_and_the_capture_goes_on(name):
    x, y, graph, stream = ones(10), ones(10), npu.NPUGraph(), npu.Stream()
    stream.wait_stream(npu.current_stream())
    with npu.stream(stream):
        graph.capture_begin()
        y.add_(1)
        with pytest.raises(RuntimeError):
            WAITS[name](x)
        y.mul_(3)
        graph.capture_end()
        graph.replay()
        assert y.tolist() == [6] * 10


def test_what_spoils_a_capture():
    x, graph, stream = ones(10), npu.NPUGraph(), npu.Stream()
    stream.wait_stream(npu.current_stream())
    with npu.stream(stream):
        graph.capture_begin()
        x.add_(1)
        with pytest.raises(RuntimeError):             # an event from before
            npu.current_stream().wait_stream(npu.default_stream())
        with pytest.raises(RuntimeError, match="507903"):
            graph.capture_end()
        assert not npu.is_current_stream_capturing()
        with pytest.raises(RuntimeError, match="without a preceding successful capture"):
            graph.replay()
        assert (x * 2).tolist() == [2] * 10           # the process goes on, and the graph may be captured anew
        capture(graph, x)
        graph.replay()
        assert x.tolist() == [2] * 10


def test_a_stream_that_does_not_come_back():
    graph = npu.NPUGraph()
    with pytest.raises(RuntimeError, match="107025"), npu.graph(graph):
        npu.Stream().wait_stream(npu.current_stream())
    assert npu.current_stream() == npu.default_stream()


def test_the_error_inside_is_the_one_that_is_seen():
    x = ones(3)
    with pytest.raises(RuntimeError, match="107027"), npu.graph(npu.NPUGraph()):
        x.sum().item()
    with pytest.raises(ZeroDivisionError), npu.graph(npu.NPUGraph()):
        1 / 0   # noqa: B018 - it raises
    assert npu.current_stream() == npu.default_stream()
    assert x.sum().item() == 3


FUNCTIONS = ["aclmdlRICaptureBegin", "aclmdlRICaptureGetInfo", "aclmdlRICaptureEnd"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_calls_that_fail(function):
    graph, stream, x = npu.NPUGraph(), npu.Stream(), ones(3)
    with npu.stream(stream):
        with sim.fault(function, 1, 500001), pytest.raises(RuntimeError, match=f"{function} failed with code 500001"):
            capture(graph, x)
        if npu.is_current_stream_capturing():         # ended by nobody
            graph.capture_end()
            graph.reset()
        capture(graph, x)
    with sim.fault("aclmdlRIExecuteAsync", 1, 500001), pytest.raises(RuntimeError, match="aclmdlRIExecuteAsync"):
        graph.replay()
    with sim.fault("aclmdlRIDestroy", 1, 500001), pytest.raises(RuntimeError, match="aclmdlRIDestroy"):
        graph.reset()
    graph.replay()
    assert x.tolist() == [2] * 3
    graph.reset()


def abandon(refused):
    """A captured graph that goes out of scope while the driver refuses functions that would give it back."""
    with contextlib.ExitStack() as stack:
        for function in refused:
            stack.enter_context(sim.fault(function, times=10**6))
        graph = npu.NPUGraph()
        with contextlib.suppress(RuntimeError), npu.graph(graph):
            ones(3).add_(1)
        del graph


@pytest.mark.parametrize("refused", [
    ["aclmdlRICaptureEnd"], ["aclmdlRIDestroy"], ["aclmdlRICaptureGetInfo", "aclmdlRICaptureEnd"]], ids=" ".join)
def test_what_the_driver_has_refused_is_tried_again(refused):
    npu.synchronize()
    npu.empty_cache()
    live = sim.live_objects()
    abandon(refused)
    assert sim.live_objects()["graph"] == live.get("graph", 0) + 1
    npu.synchronize()
    npu.empty_cache()
    assert sim.live_objects() == live
    x, graph = ones(3), npu.NPUGraph()
    with npu.graph(graph):
        x.add_(1)
    graph.replay()
    assert x.tolist() == [2] * 3


# Updates

def test_a_group_of_tasks_is_updated():
    x, out = ones(4), torch.zeros(4, device="npu")
    graph, stream = npu.NPUGraph(), npu.Stream()
    with npu.graph(graph):
        y = x + 1
        npu.graph_task_group_begin(npu.current_stream())
        torch.mul(y, 3, out=out)
        group = npu.graph_task_group_end(npu.current_stream())
        z = out + 1
    graph.replay()
    assert z.tolist() == [7] * 4
    with npu.stream(stream):
        npu.graph_task_update_begin(stream, group)
        torch.mul(y, 5, out=out)
        npu.graph_task_update_end(stream)
        graph.replay()
    npu.synchronize()
    assert z.tolist() == [11] * 4
    npu.graph_task_update_begin(stream, group)
    with pytest.raises(RuntimeError, match="107040"):
        npu.graph_task_update_end(stream)
    for call in (npu.graph_task_group_begin, npu.graph_task_group_end, npu.graph_task_update_end):
        with pytest.raises(RuntimeError, match="not capturing"):
            call(stream)
    graph.reset()
    with pytest.raises(RuntimeError, match="was reset"):
        npu.graph_task_update_begin(stream, group)


def test_an_external_event_orders_update_and_replay():
    x, out, event = ones(4), torch.zeros(4, device="npu"), npu.ExternalEvent()
    graph, stream = npu.NPUGraph(), npu.Stream()
    with npu.graph(graph):
        event.wait()
        event.reset()
        npu.graph_task_group_begin(npu.current_stream())
        torch.mul(x, 1, out=out)
        group = npu.graph_task_group_end(npu.current_stream())
    for factor in (3, 4):
        graph.replay()
        with npu.stream(stream):
            npu.graph_task_update_begin(stream, group)
            torch.mul(x, factor, out=out)
            npu.graph_task_update_end(stream)
            event.record(stream)
        npu.synchronize()
        assert out.tolist() == [factor] * 4
    graph.reset()


# torch.accelerator.Graph, and the end of a process

def test_accelerator_graph(tmp_path):
    x, stream = ones(3), torch.Stream(device="npu")
    graph = torch.accelerator.Graph(keep_graph=True, capture_error_mode="thread_local")
    with stream, graph:
        x.add_(1)
    graph.instantiate()
    graph.replay()
    assert x.tolist() == [2] * 3
    with pytest.raises(RuntimeError, match="enable_debug_mode"):
        graph.debug_dump(tmp_path / "graph.json")
    graph.enable_debug_mode()
    graph.debug_dump(tmp_path / "graph.json")
    assert "aclnn" in (tmp_path / "graph.json").read_text()
    shared = torch.accelerator.Graph(pool=graph.pool())
    with stream, shared:
        x.mul_(2)
    assert shared.pool() == graph.pool()
    shared.replay()
    assert x.tolist() == [4] * 3
    shared.reset()
    with pytest.raises(RuntimeError, match="keep_graph"):
        shared.instantiate()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        torch.accelerator.Graph(capture_error_mode="lax")


def test_a_graph_dies_with_its_objects():
    x = ones(3)
    graph, _ = captured(lambda: x.add_(1))
    graph.replay()
    del graph
    gc.collect()
    assert "graph" not in sim.live_objects()
    assert x.tolist() == [2] * 3


def test_the_process_ends_with_graphs_alive():                # here on the second of two devices
    done = run("""
from process import COUNT_AT_EXIT
exec(COUNT_AT_EXIT)
x = torch.ones(3, device="npu:1")
graph = torch.npu.NPUGraph()
with torch.npu.device(1), torch.npu.graph(graph):
    y = (x + 1) * 2
torch.ones(3, device="npu:0")
graph.replay()
assert y.tolist() == [4] * 3
unfinished = torch.npu.NPUGraph()
torch.npu.set_stream(torch.npu.Stream())
unfinished.capture_begin()
torch.ones(3, device="npu")
""", ACL_LAUNCH_BLOCKING="1", MINDTORCH_SIM_DEVICES="2", PYTORCH_NPU_ALLOC_CONF="expandable_segments:True",
               PYTHONPATH=":".join([str(Path(__file__).parent), *sys.path]))
    assert "left: {}" in done.stdout
    assert "Error" not in done.stderr


def test_tables_of_formulas_are_made_anew_where_a_graph_stores_the_work():
    x = ones(8)
    graph, result = captured(lambda: torch.fft.rfft(x))
    x.copy_(torch.arange(8.0))
    graph.replay()
    assert torch.allclose(result.cpu(), torch.fft.rfft(torch.arange(8.0)))


def test_launches_into_a_graph_have_no_device_time_in_profiles():
    x, graph, activity = ones(4), npu.NPUGraph(), torch.profiler.ProfilerActivity.PrivateUse1
    with torch.profiler.profile(activities=[activity]) as prof, npu.graph(graph):
        x + x
    assert [(event.name, event.device_time_total) for event in prof.events()] == [("aclnnAdd", 0)]


def test_a_capture_refuses_factorisations_that_wait_and_takes_those_that_do_not():
    """As on CUDA: only the `_ex` forms do not look at what the device has found."""
    matrix = torch.eye(2, device="npu")
    for function in (torch.linalg.inv, torch.linalg.cholesky):
        with pytest.raises(RuntimeError, match="captur"), npu.graph(npu.NPUGraph()):
            function(matrix)
    graph = npu.NPUGraph()
    with npu.graph(graph):
        factor, info = torch.linalg.cholesky_ex(matrix)
    graph.replay()
    assert factor.tolist() == [[1, 0], [0, 1]]
    assert info.item() == 0
