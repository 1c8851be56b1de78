"""Executors that are kept, by CANN or mindtorch: which calls are alike, results and faults with them, statistics."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from process import BY_CANN, BY_MINDTORCH, COUNT_AT_EXIT, environment, run

pytestmark = pytest.mark.one_mode

HERE = Path(__file__).parent
by_both = pytest.mark.parametrize("kept", [BY_CANN, BY_MINDTORCH], ids=["by CANN", "by mindtorch"])


@by_both
@pytest.mark.parametrize("queue", ["0", "2"])
def test_a_call_that_differs_in_one_part_is_another_call(kept, queue):
    code = (HERE / "kept_calls.py").read_text()
    settings = {"MINDTORCH_SIM_DEVICES": "2", "TASK_QUEUE_ENABLE": queue, **kept}
    misses, different = json.loads(run(code, **settings).stdout)
    assert misses == {title: [0, int(title in different), 0, 0] for title in misses}


@by_both
def test_attributes_of_operators_are_kept(kept):
    code = """
import mindtorch as torch
a = torch.tensor([1.0, 1.5, float("nan")], device="npu")
for number in (2.0, 3.0, 4.0):
    lists = [torch.ones(2, device="npu"), torch.ones(3, device="npu")]
    torch._foreach_mul_(lists, torch.tensor(number, device="npu"))
    print(lists, torch.linspace(0, 5, 6, device="npu"), torch.isclose(a, a + 0.25, rtol=0.2), a.nan_to_num(7),
          a.logit(0.25), torch.quantile(a[:2], 0.5), a.cumsum(0), torch.nn.functional.gelu(a, approximate="tanh"))
"""
    assert run(code, **kept).stdout == run(code, MINDTORCH_SIM_OP_CACHE="0").stdout


# A program by a seed: operators over views of a few tensors, of which some die; streams, graphs, other memory.
RANDOM_PROGRAM = """
import random
import mindtorch as torch
from mindtorch import npu

chance = random.Random(SEED)
tensors = [torch.randn(4, 6, generator=torch.Generator().manual_seed(i)).to("npu") for i in range(6)]
side, graphs, launched = npu.Stream(), [], 0


def view(tensor):
    way = chance.randrange(7)
    if way == 1 and tensor.dim() == 2:
        return tensor.t()
    if way == 2 and tensor.size(0) > 1:
        return tensor[1:]
    if way == 3 and tensor.dim() == 2 and tensor.size(1) > 2:
        return tensor[:, ::2]
    if way == 4:
        return tensor[None].expand(2, *tensor.shape)[1]
    return tensor.reshape(-1) if way == 5 else tensor


def like(tensor):
    fitting = [view for other in tensors for view in (other, other.t()) if view.shape == tensor.shape]
    return chance.choice(fitting) if fitting else tensor.neg()


def step():
    try:
        return try_step()
    except RuntimeError as error:       # one view may overlap another in part: then neither is written to
        if "refer to a single memory location" not in str(error):
            raise
        return tensors[0]


def try_step():
    one = view(chance.choice(tensors))
    other = like(one)
    number = chance.choice([0, 1, 2, 0.5])
    way = chance.randrange(12)
    if way == 0:
        return one + other
    if way == 1:
        return torch.add(one, other, alpha=number)
    if way == 2:
        one.mul_(0.5).add_(other, alpha=0.25)
        return one
    if way == 3:
        dim = chance.randrange(one.dim())
        return torch.cat([one, other, one], dim).narrow(dim, 1, one.size(dim))
    if way == 4:
        return one.softmax(chance.randrange(one.dim())) + one.sum() * 1e-3
    if way == 5:
        return torch.maximum(one, other, out=torch.empty_like(one))
    if way == 6:
        one.copy_(other.half() if number else other)
        return one
    if way == 7:
        torch._foreach_mul_([one, other], [0.5, 0.25])
        return other
    if way == 8:
        return torch.where(one > other, one, other).clamp(-5, None if number else 5)
    if way == 9:
        return one @ other.t() @ other if one.dim() == 2 else one * number
    if way == 10:
        return torch.stack([one, other]).mean(0) if number else torch.stack([one, other], -1).amax(-1)
    return torch.layer_norm(one, one.shape[-1:], eps=chance.choice([1e-5, 1e-3]))


for number in range(150):
    way = chance.randrange(12)
    if way == 0 and not graphs:
        npu.synchronize()
        graph = npu.NPUGraph()
        with npu.graph(graph):
            kept = tensors[0] * 0.5 + tensors[1].t().t()
        graphs.append((graph, kept))
    elif way == 1 and graphs:
        graphs[0][0].replay()
        made = graphs[0][1] + 1
        tensors[chance.randrange(2, 6)] = made
    elif way == 2:
        side.wait_stream(npu.current_stream())
        with npu.stream(side):
            made = step().clone()
        npu.current_stream().wait_stream(side)
        made.record_stream(npu.current_stream())
        tensors[chance.randrange(2, 6)] = made
    elif way == 3:
        npu.empty_cache()
    elif way == 4:
        npu.set_deterministic_level(chance.randrange(2))
    else:
        made = step()
        if made.numel() <= 60 and made.dim() <= 3 and bool(made.isfinite().all()):
            tensors[chance.randrange(2, 6)] = made
for tensor in tensors:
    print(tensor.tolist())
"""


# With each mode of TASK_QUEUE_ENABLE, with and without executors that are kept.
@pytest.mark.parametrize(("seed", "kept", "settings"), [
    (0, BY_CANN, {}), (1, BY_CANN, {"ACLNN_CACHE_LIMIT": "40"}), (2, {}, {"TASK_QUEUE_ENABLE": "1"}),
    (3, BY_CANN, {"TASK_QUEUE_ENABLE": "1"}), (4, BY_CANN, {"TASK_QUEUE_ENABLE": "2"}),
    (5, BY_CANN, {"TASK_QUEUE_ENABLE": "2", "ACLNN_CACHE_LIMIT": "40"}),
    (6, BY_MINDTORCH, {}), (7, BY_MINDTORCH, {"ACLNN_CACHE_LIMIT": "40"}),
    (8, BY_MINDTORCH, {"TASK_QUEUE_ENABLE": "1"}), (9, BY_MINDTORCH, {"TASK_QUEUE_ENABLE": "2"}),
    (10, BY_MINDTORCH, {"TASK_QUEUE_ENABLE": "2", "ACLNN_CACHE_LIMIT": "40"})])
def test_random_programs_give_the_same_results(seed, kept, settings):
    compare_program(seed, kept, settings)


# Another program in each run of the suite; if it fails, pytest shows its seed.
@by_both
@pytest.mark.parametrize("queue", ["0", "2"])
def test_a_new_random_program_gives_the_same_results(kept, queue):
    compare_program(int.from_bytes(os.urandom(4)), kept, {"TASK_QUEUE_ENABLE": queue})


def compare_program(seed, kept, settings):
    common = {"TASK_QUEUE_ENABLE": "0", "MINDTORCH_SIM_OP_CACHE": "0"}
    program = f"SEED = {seed}\n{RANDOM_PROGRAM}print(npu.executor_cache_stats()['hits'] > 50)"
    expected = run(program, **common).stdout.splitlines()
    settings = common | kept | settings
    assert run(program, **settings).stdout.splitlines() == [*expected[:-1], str(bool(kept))], f"SEED = {seed}"


# With room for one call nearly all calls are looked for in vain. With CANN's cache as it is by default test_faults.py
# itself runs, in `make test`.
@pytest.mark.parametrize(("kept", "limit"), [(BY_CANN, "1"), (BY_MINDTORCH, "1"), (BY_MINDTORCH, "10000")])
def test_any_call_may_fail(kept, limit):
    command = [sys.executable, "-m", "pytest", "-q", HERE / "test_faults.py", "-k", "do_all or workspace_allocation"]
    done = subprocess.run(command, env=environment(ACLNN_CACHE_LIMIT=limit, **kept), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout


STATS = """
import mindtorch as torch
print(torch.npu.executor_cache_stats())
a = torch.ones(4, device="npu")
for _ in range(5):
    a + a
    torch.npu.synchronize()                         # CANN keeps a call when its phase 2 has run
    torch.rand(4, device="npu")                     # nobody keeps calls with numbers of the generator
    a.masked_select(a > 0)                          # nor those whose results have other shapes
print(torch.npu.executor_cache_stats())
"""


@pytest.mark.parametrize(("settings", "hits", "misses"), [
    (BY_CANN, 8, 3), ({**BY_CANN, "MINDTORCH_EXECUTOR_CACHE": "0"}, 0, 0), ({"MINDTORCH_SIM_OP_CACHE": "0"}, 0, 0),
    (BY_MINDTORCH, 8, 3), ({**BY_MINDTORCH, "MINDTORCH_EXECUTOR_CACHE": "0"}, 0, 0)])
def test_statistics(settings, hits, misses):
    expected = [{"hits": 0, "misses": 0, "size": 0, "limit": 100},
                {"hits": hits, "misses": misses, "size": misses, "limit": 100}]
    assert run(STATS, ACLNN_CACHE_LIMIT="100", **settings).stdout.splitlines() == [str(line) for line in expected]


# A hit makes no argument and runs no phase 1, and all in all fewer calls of CANN than the miss before it.
HITS = """
import json
import mindtorch as torch
from mindtorch import sim
a, m, v = torch.ones(4, device="npu"), torch.ones(8, 8, device="npu"), torch.ones(8, device="npu")
programs = {
    "a + b": lambda: a + a, "relu": lambda: torch.relu(a), "sum": lambda: m.sum(0), "cat": lambda: torch.cat([a, v]),
    "addmm": lambda: torch.addmm(v, m, m), "copy_": lambda: m.copy_(v), "cast": lambda: m.half(),
    "foreach": lambda: torch._foreach_mul_([a, v], [2.0, 3.0])}
made = {}
for title, program in programs.items():
    for _ in range(2):
        with sim.counting() as counts:
            program()
            torch.npu.synchronize()
        first_halves = [name for name in counts if name.startswith("aclCreate") or name.endswith("GetWorkspaceSize")]
        made.setdefault(title, []).append([sum(counts.values()), len(first_halves)])
print(json.dumps(made))
"""


@by_both
@pytest.mark.parametrize("queue", ["0", "2"])
def test_a_hit_makes_fewer_calls_than_a_miss(kept, queue):
    made = json.loads(run(HITS, TASK_QUEUE_ENABLE=queue, **kept).stdout)
    for title, ((miss, halves_of_miss), (hit, halves_of_hit)) in made.items():
        assert hit < miss, title
        assert (halves_of_miss > 0, halves_of_hit) == (True, 0), title


def test_an_unknown_setting_is_refused():
    code = """
import mindtorch as torch
try:
    torch.ones(1, device="npu")
except ValueError as error:
    print(error)
"""
    assert run(code, MINDTORCH_EXECUTOR_CACHE="on").stdout == "MINDTORCH_EXECUTOR_CACHE is 'on', expected 0 or 1\n"


# Executors that mindtorch keeps.

def test_the_least_recently_used_executor_makes_room():
    code = COUNT_AT_EXIT + """
a = torch.ones(4, device="npu")

def misses(*functions):
    for function in functions:
        before = torch.npu.executor_cache_stats()["misses"]
        function(a)
        torch.npu.synchronize()
        yield torch.npu.executor_cache_stats()["misses"] - before

print(*misses(torch.sin, torch.cos, torch.sin, torch.exp, torch.sin, torch.cos, torch.exp))
print(torch.npu.executor_cache_stats()["size"])
before = sim.live_objects()
print(*misses(torch.sin, torch.tan), sim.live_objects() == before)
"""
    for queue in "012":
        said = run(code, TASK_QUEUE_ENABLE=queue, ACLNN_CACHE_LIMIT="2", **BY_MINDTORCH).stdout
        assert said.splitlines() == ["1 1 0 1 0 1 1", "2", "1 1 True", "left: {}"]


def test_where_cann_refuses_both_phases_run():
    code = COUNT_AT_EXIT + """
a, lists = torch.ones(4, device="npu"), [torch.ones(3, device="npu") for _ in range(30)]
before = torch.npu.executor_cache_stats()
with sim.fault("aclSetAclOpExecutorRepeatable", times=10**6):
    for _ in range(3):
        b = a + a
        torch._foreach_mul_(lists, [2.0] * 30)
    print(b.tolist(), lists[29].tolist())
after = torch.npu.executor_cache_stats()
print(*(after[name] - before[name] for name in ("hits", "misses", "size")))
print((a + a).tolist(), (a * 2 + a).tolist())
"""
    expected = ["[2.0, 2.0, 2.0, 2.0] [8.0, 8.0, 8.0]", "0 6 0", "[2.0, 2.0, 2.0, 2.0] [3.0, 3.0, 3.0, 3.0]",
                "left: {}"]
    assert run(code, TASK_QUEUE_ENABLE="0", **BY_MINDTORCH).stdout.splitlines() == expected


def test_an_executor_whose_launch_has_failed_is_not_found_again():
    code = COUNT_AT_EXIT + """
a = torch.ones(4, device="npu")
a + a
for function in ("aclnnAdd", "aclSetTensorAddr"):
    (a + a).tolist()
    with sim.fault(function):
        try:
            (a + a).tolist()
        except RuntimeError as error:
            print("aclnnAdd failed with code 500001" in str(error))
    print(torch.npu.executor_cache_stats()["size"], (a + a).tolist())
"""
    for queue in "012":
        said = run(code, TASK_QUEUE_ENABLE=queue, **BY_MINDTORCH).stdout
        assert said.splitlines() == [*["True", "1 [2.0, 2.0, 2.0, 2.0]"] * 2, "left: {}"]


# A launch waits for a stream whose queue is full until another thread, which makes an equal call, wakes it.
def test_equal_calls_of_threads_do_not_wait_for_each_other():
    code = """
import threading
import mindtorch as torch
a = torch.zeros(3, device="npu")
a.add_(1)
torch.npu.synchronize()
full, free = torch.npu.Stream(), torch.npu.Stream()
gate = threading.Event()

def fill():
    torch.npu._launch_host_func(full, gate.wait)
    with torch.npu.stream(full):
        for _ in range(3000):
            a.add_(1)

filling = threading.Thread(target=fill)
filling.start()
filling.join(2)
with torch.npu.stream(free):
    b = torch.zeros(3, device="npu")
    for _ in range(10):
        b.add_(1)
    print(b.tolist(), filling.is_alive())
gate.set()
filling.join()
torch.npu.synchronize()
print(a.tolist())
"""
    said = run(code, TASK_QUEUE_ENABLE="0", **BY_MINDTORCH).stdout
    assert said == "[10.0, 10.0, 10.0] True\n[3001.0, 3001.0, 3001.0]\n"


def test_a_child_of_a_fork_has_no_executors():
    code = """
import os
import mindtorch as torch
a = torch.ones(3, device="npu")
(a + a).tolist()
child = os.fork()
if child == 0:
    os._exit(torch.npu.executor_cache_stats()["size"])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.npu.executor_cache_stats()["size"])
"""
    assert run(code, **BY_MINDTORCH).stdout == "0 2\n"
