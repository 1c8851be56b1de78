"""torch.profiler and torch.autograd.profiler beside torch's: what is recorded, how it nests, tables, traces."""
import gzip
import importlib
import json
import os
import threading
import warnings

import pytest
import torch

import mindtorch

LIBRARIES = {"torch": torch, "mindtorch": mindtorch}


def profiler_of(lib):
    return importlib.import_module(f"{lib.__name__}.profiler")


def recorded(lib, run, **options):
    """The profile of run()."""
    profiler = profiler_of(lib)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], **options) as prof:
        run()
    return prof


def outermost(prof):
    return [event for event in prof.events() if event.cpu_parent is None]


# --- names -----------------------------------------------------------------------------------------------------------

def operands(lib, device):
    x = lib.arange(1, 17, dtype=lib.float32).reshape(4, 4).to(device)
    return {"torch": lib, "F": lib.nn.functional, "x": x, "i": (x * 2).int(), "mask": x > 3,
            "target": lib.tensor([0, 1, 2, 3]).to(device)}


CALLS = [
    "x + x", "1 - x", "-x", "abs(x)", "x == x", "x // 2", "x % 2", "i & 1", "x ** 2", "2 ** x", "x @ x", "x < x",
    "x.__iadd__(1)", "i.__ior__(1)", "x[0]", "x[0:2]", "x[mask]", "x[None]", "x.T", "x.mT", "x.float()",
    "x.double()", "x.type(torch.int)", "x.to(torch.float16)", "x.cpu()", "x.contiguous()", "torch.cat([x, x])",
    "torch.stack([x, x])", "x.std()", "x.var(0)", "torch.where(mask, x, x)", "torch.eye(2)", "x.view(-1)",
    "x.reshape(16)", "x.permute(1, 0)", "x.t()", "x.unsqueeze(0)", "x.expand(4, 4)", "x.chunk(2)", "x.split(2)",
    "torch.einsum('ij,jk->ik', x, x)", "x.detach()", "x.clone()", "torch.randn(2)", "torch.rand_like(x)",
    "torch.fft.fft(x)", "x.is_conj()", "x.numel()", "x.masked_fill(mask, 0)", "torch.arange(3)", "torch.zeros_like(x)",
    "torch.zeros(2)", "x.flatten()", "x.square().mean()", "list(x)", "len(x)", "x.add_(x, alpha=2)", "x.sum(dim=1)",
    "F.linear(x, x)", "F.relu(x)", "F.gelu(x)", "F.softmax(x, -1)", "F.layer_norm(x, (4,))", "F.dropout(x)",
    "F.embedding(target, x)", "F.cross_entropy(x, target)", "F.pad(x, (1, 1))", "F.max_pool2d(x.unsqueeze(0), 2)",
    "F.batch_norm(x, None, None, training=True)", "F.conv2d(x.view(1, 1, 4, 4), x.view(1, 1, 4, 4))",
    "F.cosine_similarity(x, x)", "F.pairwise_distance(x, x)", "F.relu6(x)", "torch.vstack([x, x])", "x.norm()",
    "torch.linalg.inv(x + torch.eye(4, device=x.device))", "torch.special.i1(x)",
    "F.scaled_dot_product_attention(x, x, x)", "torch._foreach_add([x, x], 1)"]


@pytest.mark.parametrize("call", CALLS)
def test_calls_have_torchs_names(call, device):
    code = compile(call, call, "eval")
    names = {}
    for name, lib in LIBRARIES.items():
        values = operands(lib, device if lib is mindtorch else "cpu")
        names[name] = [event.name for event in outermost(recorded(lib, lambda v=values: eval(code, v)))]
    assert names["mindtorch"] == names["torch"]


def test_item_assignments_are_named_by_what_they_write(device):
    x = mindtorch.zeros(3, 3, device=device)

    def assign():
        x[0] = 1.0
        x[1] = row
        x[x > 0] = 2.0

    row = x[2].clone()
    assert [event.name for event in outermost(recorded(mindtorch, assign))] == [
        "aten::fill_", "aten::copy_", "aten::gt", "aten::index_put_"]


# --- a model ---------------------------------------------------------------------------------------------------------

def training_step(lib, device):
    """Returns a function that makes one step of a small model, in two named ranges."""
    nn = lib.nn
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).to(device)
    inputs, targets = lib.ones(5, 4).to(device), lib.zeros(5, dtype=lib.int64).to(device)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    record_function = profiler_of(lib).record_function

    @record_function("backward")
    def backward(loss):
        loss.backward()

    def step():
        with record_function("forward"):
            loss = nn.functional.cross_entropy(model(inputs), targets)
        backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    return step


def children(prof, name):
    event, = (event for event in prof.events() if event.name == name)
    return event.cpu_children


def test_training_step_nests_as_in_torch(device):
    ours = recorded(mindtorch, training_step(mindtorch, device), record_shapes=True)
    theirs = recorded(torch, training_step(torch, "cpu"), record_shapes=True)
    for prof in (ours, theirs):
        assert [event.name for event in outermost(prof)] == [
            "forward", "backward", "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"]
    for name in ("forward", "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"):
        mine, its = children(ours, name), children(theirs, name)
        assert [event.name for event in mine] == [event.name for event in its]
        for one, other in zip(mine, its, strict=True):
            assert [s for s in one.input_shapes if s] == [s for s in other.input_shapes if s]


def test_backward_has_a_range_for_each_node(device):
    x = mindtorch.ones(2, 3, device=device, requires_grad=True)
    loss = x.exp().sum()
    prof = recorded(mindtorch, loss.backward, record_shapes=True)
    prefix = "autograd::engine::evaluate_function: "
    names = ["SumBackward0", "ExpBackward0", "torch::autograd::AccumulateGrad"]
    nodes = [event for event in prof.events() if event.name.startswith(prefix)]
    assert [event.name for event in nodes] == [prefix + name for name in names]
    assert [event.cpu_children[0].name for event in nodes] == names
    assert [event.cpu_children[0].scope for event in nodes] == [1, 1, 1]
    assert [event.cpu_children[0].input_shapes for event in nodes] == [[[]], [[2, 3]], [[2, 3]]]
    assert nodes[0].sequence_nr > nodes[1].sequence_nr


def test_functions_of_a_program_have_their_names():
    def names(lib):
        class Doubled(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        x = lib.ones(2, requires_grad=True)
        forward = outermost(recorded(lib, lambda: Doubled.apply(x), record_shapes=True))
        backward = recorded(lib, Doubled.apply(x).sum().backward)
        return ([(event.name, event.input_shapes, [child.name for child in event.cpu_children]) for event in forward],
                [event.name for event in backward.events() if "Doubled" in event.name])

    assert names(mindtorch) == names(torch)


def test_times_are_nested_and_ordered(device):
    prof = recorded(mindtorch, training_step(mindtorch, device))
    starts = [event.time_range.start for event in prof.events()]
    assert starts == sorted(starts)
    for event in prof.events():
        assert event.cpu_time_total >= event.self_cpu_time_total >= 0
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
    total = sum(event.cpu_time_total for event in outermost(prof))
    assert prof.events().self_cpu_time_total == pytest.approx(total)


def test_loader_ranges():
    loader = mindtorch.utils.data.DataLoader(list(range(4)), batch_size=2)
    prof = recorded(mindtorch, lambda: list(loader))
    its = recorded(torch, lambda: list(torch.utils.data.DataLoader(list(range(4)), batch_size=2)))
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    count = [[event.name for event in one.events()].count(name) for one in (prof, its)]
    assert count[0] == count[1] == 3


# --- sums, tables, files ---------------------------------------------------------------------------------------------

def test_key_averages_count_calls_as_torch_does(device):
    def run(lib, device):
        x = lib.ones(3).to(device)
        return lambda: [x + x for _ in range(4)] and [x * y for y in (x, x.view(3, 1))]

    counts = [{group.key: (group.count, group.input_shapes) for group in recorded(lib, run(lib, place)).key_averages()
               if group.key in ("aten::add", "aten::mul", "aten::view")}
              for lib, place in ((mindtorch, device), (torch, "cpu"))]
    assert counts[0] == counts[1]
    by_shape = recorded(mindtorch, run(mindtorch, device), record_shapes=True).key_averages(group_by_input_shape=True)
    assert sorted(group.input_shapes for group in by_shape if group.key == "aten::mul") == [
        [[3], [3]], [[3], [3, 1]]]


def made_up_events(lib):
    util = importlib.import_module(f"{lib.__name__}.autograd.profiler_util")
    shapes = [[16, 32], [32, 64]]
    events = util.EventList([
        util.FunctionEvent(0, "aten::mm", 1, 0, 1500, overload_name="", input_shapes=shapes, stack=[], flops=10 ** 7),
        util.FunctionEvent(1, "a name that is longer than all others" * 2, 1, 1500, 1502, overload_name="",
                           input_shapes=shapes, stack=[], flops=0),
        util.FunctionEvent(2, "aten::mm", 1, 1600, 2_500_000, overload_name="", input_shapes=shapes, stack=[],
                           flops=10 ** 7)], with_flops=True)
    if lib is torch:
        events._build_tree()
    return events


@pytest.mark.parametrize("options", [
    {}, {"sort_by": "self_cpu_time_total", "row_limit": 1}, {"sort_by": "count", "time_unit": "ms"},
    {"header": "title", "top_level_events_only": True}, {"max_name_column_width": 20, "max_shapes_column_width": 16},
    {"row_limit": -1, "sort_by": "cuda_time_total"}])
def test_tables_look_like_torchs(options):
    tables = [made_up_events(lib).key_averages(group_by_input_shapes=True).table(**options)
              for lib in (mindtorch, torch)]
    assert tables[0] == tables[1]


def test_table_of_a_profile():
    prof = recorded(mindtorch, training_step(mindtorch, "cpu"))
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    titles = table.splitlines()[1].split("  ")
    its = recorded(torch, training_step(torch, "cpu")).key_averages().table(row_limit=3)
    assert [t.strip() for t in titles if t.strip()] == [
        t.strip() for t in its.splitlines()[1].split("  ") if t.strip()]
    assert len(table.splitlines()) == len(its.rstrip("\n").splitlines())
    with pytest.raises(AttributeError, match="'FunctionEventAvg' object has no attribute 'nope'"):
        prof.key_averages().table(sort_by="nope")


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_trace_is_json_with_the_same_events(suffix, tmp_path, device):
    path = str(tmp_path / f"trace{suffix}")
    profiler = mindtorch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        prof.add_metadata("kind", "test")
        prof.add_metadata_json("numbers", "[1, 2]")
        training_step(mindtorch, device)()
    prof.export_chrome_trace(path)
    with (gzip.open if suffix.endswith("gz") else open)(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    calls = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] != "Trace"]
    assert [event["name"] for event in calls] == [event.name for event in prof.events()]
    assert {event["cat"] for event in calls} == {"cpu_op", "user_annotation"}
    assert [event["args"]["Input Dims"] for event in calls] == [event.input_shapes for event in prof.events()]
    assert all(event["dur"] >= 0 for event in calls)
    assert (trace["kind"], trace["numbers"], trace["trace_id"]) == ("test", [1, 2], prof.get_trace_id())
    with pytest.raises(RuntimeError, match="Trace is already saved"):
        prof.export_chrome_trace(path)


def test_stacks_name_the_callers(tmp_path):
    def innermost():
        return mindtorch.ones(2) + 1

    prof = recorded(mindtorch, innermost, with_stack=True)
    add = next(event for event in prof.events() if event.name == "aten::add")
    assert __file__ in add.stack[0]
    assert add.stack[0].endswith(": innermost")
    assert add.stack[1].endswith(": recorded")
    prof.export_stacks(str(tmp_path / "stacks"))
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert any(line.split(" ")[0].endswith("_innermost;aten::add") for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(tmp_path / "stacks"), "count")
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        recorded(mindtorch, innermost).export_stacks(str(tmp_path / "stacks"))


def test_flops_are_counted_as_torch_counts():
    def run(lib):
        def products():
            lib.mm(lib.ones(3, 4), lib.ones(4, 5))
            lib.addmm(lib.ones(5), lib.ones(3, 4), lib.ones(4, 5))
            lib.bmm(lib.ones(2, 3, 4), lib.ones(2, 4, 5))
            lib.conv2d(lib.ones(2, 3, 8, 8), lib.ones(5, 3, 3, 3))
            lib.ones(3) + 1
            lib.ones(3) * 2
        return products

    counts = [{event.name: event.flops for event in recorded(lib, run(lib), with_flops=True).events() if event.flops}
              for lib in (mindtorch, torch)]
    assert counts[0] == counts[1]


# --- the NPU ---------------------------------------------------------------------------------------------------------

def test_launches_lie_in_their_operators():
    activity = mindtorch.profiler.ProfilerActivity
    x = mindtorch.ones(3, device="npu")
    with mindtorch.profiler.profile(activities=[activity.CPU, activity.PrivateUse1]) as prof:
        x + x
        mindtorch.addcmul(x, x, x)
    assert [(event.name, [child.name for child in event.cpu_children]) for event in outermost(prof)] == [
        ("aten::add", ["aclnnAdd"]), ("aten::addcmul", ["aclnnAddcmul"])]
    with mindtorch.profiler.profile(activities=[activity.PrivateUse1]) as prof:
        x + x
    assert [event.name for event in prof.events()] == ["aclnnAdd"]
    assert prof.events()[0].activity_type == "privateuse1_runtime"
    assert [event.name for event in recorded(mindtorch, lambda: x + x).events()] == ["aten::add"]


@pytest.fixture
def npu_profile():
    """Profiles operators and launches."""
    activity = mindtorch.profiler.ProfilerActivity
    return mindtorch.profiler.profile(activities=[activity.CPU, activity.PrivateUse1])


def test_launches_have_the_time_that_they_take_on_the_device(npu_profile):
    x = mindtorch.ones(256, 256, device="npu")
    with npu_profile as prof, mindtorch.profiler.record_function("outer"):
        mindtorch.mm(x, x)
        mindtorch.mm(x, x)
    outer, *_ = prof.events()
    launches = [event for event in prof.events() if event.name == "aclnnMm"]
    assert len(launches) == 2
    assert all(event.self_device_time_total > 0 for event in launches)
    assert outer.self_device_time_total == 0
    assert outer.device_time_total == sum(event.device_time_total for event in launches)
    averages = {group.key: group for group in prof.key_averages()}
    assert averages["aten::mm"].device_time_total == outer.device_time_total == 2 * averages["aclnnMm"].device_time
    table = prof.key_averages().table(sort_by="self_npu_time_total")
    assert table.splitlines()[3].split()[0] == "aclnnMm"
    for title in ("Self NPU", "Self NPU %", "NPU total", "NPU time avg", "Self NPU time total: "):
        assert title in table
    assert "NPU" not in recorded(mindtorch, lambda: x + x).key_averages().table()


def test_a_long_profile_holds_a_thousand_pairs_of_events_at_most(npu_profile):
    x = mindtorch.ones(1, device="npu")
    with npu_profile as prof:
        for _ in range(1200):
            x.neg_()
        held = mindtorch.sim.live_objects()["event"]
    assert 2000 <= held <= 2100
    assert len([event for event in prof.events() if event.name == "aclnnInplaceNeg"]) == 1200


@pytest.mark.parametrize("nth", [1, 2])
def test_an_event_that_fails_fails_the_launch(npu_profile, nth):
    """The driver refuses the event before the launch, or the one behind it."""
    x = mindtorch.ones(1, device="npu")
    with npu_profile, mindtorch.sim.fault("aclrtRecordEvent", nth), pytest.raises(RuntimeError, match="aclrtRecordEve"):
        x + x


def test_memory_is_what_the_allocator_says():
    kept = []

    def run():
        with mindtorch.profiler.record_function("outer"):
            kept.append(mindtorch.zeros(1000, device="npu"))
            kept.pop()
            kept.append(mindtorch.zeros(100, device="npu"))

    before = mindtorch.npu.memory_allocated()
    prof = recorded(mindtorch, run, profile_memory=True)
    grown = mindtorch.npu.memory_allocated() - before
    outer = prof.events()[0]
    zeros = [event for event in outer.cpu_children if event.name == "aten::zeros"]
    assert outer.device_memory_usage == grown == zeros[1].device_memory_usage
    assert zeros[0].device_memory_usage == 4096
    assert outer.self_device_memory_usage == -4096
    assert "Self NPU Mem" in prof.key_averages().table()


def test_torch_npu_has_its_own_names(tmp_path):
    from mindtorch._torch_npu import profiler
    x = mindtorch.ones(3, device="npu")
    with profiler.profile(activities=[profiler.ProfilerActivity.NPU], schedule=profiler.schedule(0, 1, 1, repeat=1),
                          on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path))) as prof:
        for _ in range(2):
            x + x
            prof.step()
    path, = tmp_path.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
    assert [event["name"] for event in json.loads(path.read_text()) if event.get("cat") == "privateuse1_runtime"] == [
        "aclnnAdd"]
    assert profiler.supported_activities() == {profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU}


# --- schedules and life ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments", [
    (0, 0, 1, 0, 0, 0), (1, 1, 2, 0, 0, 0), (2, 0, 3, 2, 1, 0), (0, 2, 1, 1, 3, 0), (3, 1, 1, 2, 2, 1),
    (-1, 0, 1, 0, 0, 0), (0, 0, 0, 0, 0, 0), (0, 0, 1, -1, 0, 0)])
def test_schedules(arguments):
    names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")

    def actions(lib):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = profiler_of(lib).schedule(**dict(zip(names, arguments, strict=True)))
            except AssertionError as error:
                return str(error)
            return [made(step).name for step in range(20)], [str(warning.message) for warning in caught]

    assert actions(mindtorch) == actions(torch)


@pytest.mark.parametrize("options", [{}, {"acc_events": True}])
def test_steps_call_the_handler_as_in_torch(options):
    def run(lib):
        profiler, seen = profiler_of(lib), []
        with profiler.profile(
                activities=[profiler.ProfilerActivity.CPU], schedule=profiler.schedule(wait=1, warmup=1, active=2),
                on_trace_ready=lambda prof: seen.append((prof.step_num, names(prof))), **options) as prof:
            for _ in range(9):
                lib.neg(lib.ones(1))
                prof.step()
        return seen, names(prof)

    def names(prof):
        return [event.name for event in prof.events() if event.name in ("ProfilerStep*", "aten::ones", "aten::neg")]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # torch's, that it forgets earlier cycles
        assert run(mindtorch) == run(torch)


def test_schedule_that_loses_a_recording_warns():
    action = mindtorch.profiler.ProfilerAction
    ready = []
    with pytest.warns(UserWarning, match="Incorrect schedule: RECORD followed by NONE"), mindtorch.profiler.profile(
            schedule=lambda step: action.NONE if step else action.RECORD, on_trace_ready=ready.append) as prof:
        prof.step()
    assert ready == []


LIFE = {
    "no activities": lambda p: p.profile(activities=[]),
    "wrong activities": lambda p: p.profile(activities=["CPU"]),
    "events": lambda p: p.profile(activities=[p.ProfilerActivity.CPU]).events(),
    "averages": lambda p: p.profile(activities=[p.ProfilerActivity.CPU]).key_averages(),
    "trace": lambda p: p.profile(activities=[p.ProfilerActivity.CPU]).export_chrome_trace("x"),
    "stop": lambda p: p.profile(activities=[p.ProfilerActivity.CPU]).stop(),
    "actions": lambda p: [(one.name, one.value) for one in p.ProfilerAction],
    "activities": lambda p: {name: int(one) for name, one in p.ProfilerActivity.__members__.items()},
    "devices": lambda p: (p.DeviceType.CPU.value, p.DeviceType.PrivateUse1.value),
    "kineto": lambda p: p.kineto_available()}


@pytest.mark.parametrize("name", LIFE)
def test_what_a_profile_answers(name):
    outcomes = []
    for lib in (mindtorch, torch):
        try:
            outcomes.append(LIFE[name](profiler_of(lib)))
        except AssertionError as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


def test_options_of_kineto_are_refused():
    profile = mindtorch.profiler.profile
    profile(experimental_config=None, execution_trace_observer=None, post_processing_timeout_s=1.0)
    for option in ("experimental_config", "execution_trace_observer"):
        with pytest.raises(NotImplementedError, match="Kineto"):
            profile(**{option: object()})


def test_plain_profile():
    found = []
    for lib in (mindtorch, torch):
        profiler = importlib.import_module(f"{lib.__name__}.autograd.profiler")
        with profiler.profile() as prof, profiler.record_function("a", "text"):
            lib.ones(2).neg()
        events = [(event.name, event.scope, event.is_user_annotation) for event in prof.function_events
                  if event.name in ("a", "aten::ones", "aten::neg")]
        found.append((events, prof.total_average().key, [group.count for group in prof.key_averages()
                                                         if group.key in ("aten::neg", "a")]))
        with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), prof:
            pass
        with profiler.profile(enabled=False) as nothing:
            lib.ones(2)
        assert nothing is None
    assert found[0] == found[1]


def test_other_threads_are_not_recorded():
    def run(lib):
        thread = threading.Thread(target=lambda: lib.ones(2) * 3)
        return lambda: (thread.start(), thread.join(), lib.ones(1))

    for lib in (mindtorch, torch):
        names = [event.name for event in recorded(lib, run(lib)).events()]
        assert "aten::mul" not in names
        assert "aten::ones" in names


def test_a_profile_ends_with_an_exception(device):
    x = mindtorch.ones(2, 2, device=device)
    prof = mindtorch.profiler.profile()

    def fail():
        with prof, mindtorch.profiler.record_function("failing"):
            mindtorch.vstack([x, mindtorch.ones(3, device=device) + mindtorch.ones(2, device=device)])

    with pytest.raises(RuntimeError, match="size"):
        fail()
    assert "failing" in [event.name for event in prof.events()]
    count = len(prof.events())
    x + x
    assert len(prof.events()) == count
    assert [event.name for event in recorded(mindtorch, lambda: x + x).events()] == ["aten::add"]


def test_a_failing_handler_stops_the_profile_too():
    def fail(prof):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), mindtorch.profiler.profile(on_trace_ready=fail):
        mindtorch.ones(1)
    assert [event.name for event in recorded(mindtorch, lambda: mindtorch.ones(1)).events()] == ["aten::ones"]


def test_only_one_profile_at_a_time():
    with mindtorch.profiler.profile() as prof:
        with pytest.raises(RuntimeError, match="a profile is running already"):
            mindtorch.profiler.profile().start()
        mindtorch.ones(1)
    assert [event.name for event in outermost(prof)] == ["aten::ones"]


def test_child_processes_do_not_record():
    with mindtorch.profiler.profile() as prof, warnings.catch_warnings():
        warnings.simplefilter("ignore")         # Python's, that there are threads
        child = os.fork()
        if child == 0:
            own = recorded(mindtorch, lambda: mindtorch.zeros(1))
            os._exit(0 if [event.name for event in own.events()] == ["aten::zeros"] else 1)
        assert os.waitpid(child, 0)[1] == 0
        mindtorch.ones(1)
    assert [event.name for event in outermost(prof)] == ["aten::ones"]


@pytest.mark.parametrize("lib", LIBRARIES.values(), ids=LIBRARIES)
def test_ranges_by_operators_in_a_graph(lib):
    graph = lib.fx.Graph()
    x = graph.placeholder("x")
    handle = graph.call_function(lib.ops.profiler._record_function_enter, ("step",))
    result = graph.call_function(lib.relu, (x,))
    graph.call_function(lib.ops.profiler._record_function_exit, (handle,))
    graph.output(result)
    module = lib.fx.GraphModule({}, graph)
    assert module(lib.tensor([-1., 2.])).tolist() == [0.0, 2.0]
    prof = recorded(lib, lambda: module(lib.ones(2)))
    step, = [event for event in prof.events() if event.name == "step"]
    assert "aten::relu" in [event.name for event in step.cpu_children]


def test_record_function_outside_a_profile():
    with mindtorch.profiler.record_function("nothing"):
        pass
    opened = mindtorch.profiler.record_function("left open")
    prof = recorded(mindtorch, opened.__enter__)
    opened.__exit__(None, None, None)
    assert [event.name for event in prof.events()] == ["left open"]
    with pytest.raises(RuntimeError, match="Expected a value of type 'str' for argument 'name'"):
        mindtorch.profiler.record_function(3).__enter__()


def test_trace_handler_names_files(tmp_path):
    handler = mindtorch.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "worker", use_gzip=True)
    with mindtorch.profiler.profile(on_trace_ready=handler):
        mindtorch.ones(1)
    path, = (tmp_path / "log").glob("worker.*.pt.trace.json.gz")
    assert json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="Can't create directory"):
        mindtorch.profiler.tensorboard_trace_handler(str(tmp_path / "file" / "log"))(None)
