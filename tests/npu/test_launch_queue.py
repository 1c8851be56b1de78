"""The queues of launches (TASK_QUEUE_ENABLE): errors, order, lifetimes, and that an idle queue sleeps."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from native import ROOT
from process import BY_CANN, BY_MINDTORCH, COUNT_AT_EXIT, run

HERE = Path(__file__).parent
# The first queue runs phase 2; the others phase 1, too, or find executors in a cache that has them or has lost them.
WITHOUT_CACHE = {"TASK_QUEUE_ENABLE": "1", "MINDTORCH_SIM_OP_CACHE": "0"}
WITH_CACHE = {"TASK_QUEUE_ENABLE": "2", **BY_CANN}
MODES = [WITHOUT_CACHE, {**WITHOUT_CACHE, "TASK_QUEUE_ENABLE": "2"}, WITH_CACHE,
         {**WITH_CACHE, "ACLNN_CACHE_LIMIT": "1"}, {**WITHOUT_CACHE, **BY_MINDTORCH},
         {"TASK_QUEUE_ENABLE": "2", **BY_MINDTORCH},
         {"TASK_QUEUE_ENABLE": "2", "ACLNN_CACHE_LIMIT": "1", **BY_MINDTORCH}]
every_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode.values())))

ERRORS = """
import mindtorch as torch
from mindtorch import sim
a = torch.arange(6.0, device="npu").view(2, 3)
for _ in range(3):                               # the second queue takes over what was found once
    (a + a[0]).tolist()
event = torch.npu.Event()
for wait in (torch.npu.synchronize, lambda: a.tolist(), event.synchronize, torch.npu.current_stream().synchronize):
    with sim.fault("aclnnAdd"):
        b = a + a[0]
        c = a * 2                                # goes on, since it was in the queue
        event.record()
        try:
            wait()
        except RuntimeError as error:
            print(error)
    torch.npu.synchronize()                      # once is enough
    print(c.tolist(), (a + a[0]).tolist())
"""


@every_mode
def test_an_error_comes_at_the_next_wait_and_says_what_was_called(mode):
    said = run(ERRORS, **mode).stdout
    assert said.count("NPU error: aclnnAdd failed with code 500001") == 4
    assert said.count("a fault was injected") == 4
    assert said.count("With ACL_LAUNCH_BLOCKING=1 or TASK_QUEUE_ENABLE=0 the call itself raises the error") == 4
    assert said.count("with the tensors torch.float32 [2, 3], torch.float32 [3], torch.float32 [2, 3]") == 4
    assert said.count("[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]] [[0.0, 2.0, 4.0], [3.0, 5.0, 7.0]]") == 4


def test_errors_name_the_tensors_of_calls_that_are_never_alike_and_of_long_lists():
    code = """
import mindtorch as torch
from mindtorch import sim
a, row = torch.ones(3, 4, device="npu"), torch.ones(1, 4, device="npu")
many = [torch.ones(2, device="npu") for _ in range(40)]
for function, act in (("aclnnInplaceUniform", lambda: a.uniform_()), ("aclnnInplaceCopy", lambda: a.copy_(row)),
                      ("aclnnForeachAddScalarV2", lambda: torch._foreach_add_(many, 1.0))):
    with sim.fault(function):
        act()
        try:
            torch.npu.synchronize()
        except RuntimeError as error:
            print(str(error).partition(" was called with the tensors ")[2].partition(" before")[0])
"""
    said = run(code, TASK_QUEUE_ENABLE="2", MINDTORCH_SIM_OP_CACHE="0").stdout.splitlines()
    assert said == ["torch.float32 [3, 4]", "torch.float32 [3, 4], torch.float32 [1, 4]",
                    ", ".join(["torch.float32 [2]"] * 24 + ["..."])]


# Each call launches one operator. Its phase 1 fails when a call was like it before: on the queue's thread, which
# makes the arguments of the key, however long it is.
FIRST_HALVES = """
import mindtorch as torch
import mindtorch._torch_npu as torch_npu
from mindtorch import sim

def ones(*sizes, **options):
    return torch.ones(sizes, device="npu", **options)

a, halves, byte = ones(3, 4), ones(3, 4, dtype=torch.float16), ones(4).to(torch.float8_e5m2)
lists = [ones(2) for _ in range(40)]
row, mean, query = ones(4), ones(3, 1), ones(1, 2, 2, 16, dtype=torch.float16)
parameter, gradient, moments, step = ones(4), ones(4), [ones(4), ones(4)], torch.ones((), device="npu")
calls = {
    "copy_": lambda: a.copy_(row),
    "copy_ that casts": lambda: a.copy_(halves),
    "contiguous": lambda: a.t().contiguous(),
    "a cast of 8-bit floats": lambda: byte.float(),
    "cat": lambda: torch.cat([a, a]),
    "a list and a number": lambda: torch._foreach_mul_(lists, 1.0),
    "numbers": lambda: torch._foreach_mul_([a, row], [1.0, 1.0]),
    "bools": lambda: torch.ops.aten.native_layer_norm_backward(a, a, [4], mean, mean, row, row, [True, True, False]),
    "text": lambda: torch_npu.npu_fusion_attention(query, query, query, 2, "BNSD"),
    "a product": lambda: torch.addmm(a, ones(3, 4), ones(4, 4)),
}
for title, call in calls.items():
    call(), torch.npu.synchronize()
    with sim.counting() as counts:
        call()
        torch.npu.synchronize()
    phase1 = list(counts.operators())[-1] + "GetWorkspaceSize"
    with sim.fault(phase1):
        call()
        try:
            torch.npu.synchronize()
        except RuntimeError as error:
            print(title, f"{phase1} failed" in str(error), "was called with the tensors torch." in str(error))
    call(), torch.npu.synchronize()
print(a.tolist() == [[1.0] * 4] * 3, lists[39].tolist())
"""


def test_the_queue_s_thread_runs_phase_1_of_every_kind_of_call():
    said = run(FIRST_HALVES, TASK_QUEUE_ENABLE="2", MINDTORCH_SIM_OP_CACHE="0").stdout.splitlines()
    assert said[-1] == "True [1.0, 1.0]"
    assert [line.endswith(" True True") for line in said[:-1]] == [True] * 10, said


# An argument that cannot be made there: what there is of it is destroyed, and the error says why.
def test_an_argument_that_the_queue_s_thread_cannot_make():
    code = COUNT_AT_EXIT + """
lists = [torch.ones(2, device="npu") for _ in range(30)]
for _ in range(2):
    torch._foreach_mul_(lists, [2.0] * 30)
    torch.npu.synchronize()
live = sim.live_objects()
for function, nth in (("aclCreateTensor", 7), ("aclCreateTensorList", 1), ("aclCreateScalar", 9),
                      ("aclCreateScalarList", 1)):
    with sim.fault(function, nth=nth):
        torch._foreach_mul_(lists, [2.0] * 30)
        try:
            torch.npu.synchronize()
        except RuntimeError as error:
            print(f"{function}: this call fails" in str(error), sim.live_objects() == live)
print(lists[29].tolist())
"""
    said = run(code, TASK_QUEUE_ENABLE="2", MINDTORCH_SIM_OP_CACHE="0").stdout
    assert said == "True True\n" * 4 + "[4.0, 4.0]\nleft: {}\n"


def test_the_caller_raises_what_phase_1_refuses_in_every_mode():
    code = """
import mindtorch as torch
from mindtorch import sim
a = torch.ones(3, device="npu")
for mode in (0, 1, 2):
    torch.npu.set_task_queue_enable(mode)
    with sim.fault("aclnnMulGetWorkspaceSize"):
        try:
            a[:mode + 1] * a[:mode + 1]              # no call was like this one
        except RuntimeError as error:
            print("aclnnMulGetWorkspaceSize failed" in str(error), "later" in str(error))
    torch.npu.synchronize()
"""
    assert run(code, MINDTORCH_SIM_OP_CACHE="0").stdout.splitlines() == ["True False"] * 3


def test_with_blocking_launches_the_operator_raises():
    code = """
import mindtorch as torch
from mindtorch import sim
a = torch.ones(2, device="npu")
with sim.fault("aclnnAdd"):
    try:
        a + a
    except RuntimeError as error:
        print("later" in str(error), torch.npu.get_task_queue_enable())
"""
    assert run(code, TASK_QUEUE_ENABLE="1", ACL_LAUNCH_BLOCKING="1").stdout == "False 0\n"


def test_a_full_queue_makes_the_caller_wait():
    code = """
import mindtorch as torch
from mindtorch import sim
a = torch.zeros(3, device="npu")
sim.set_latency("aclnnInplaceAdds", 20_000)
with sim.counting():
    for _ in range(4000):
        a.add_(1)
    print(sim.calls("aclnnInplaceAdds") >= 4000 - 2048 - 1, a.tolist())
"""
    assert run(code, **WITHOUT_CACHE).stdout == "True [4000.0, 4000.0, 4000.0]\n"


def test_what_is_in_the_queue_at_exit_is_made():
    code = COUNT_AT_EXIT + """
counting = sim.counting()
counting.__enter__()
atexit.register(lambda: print("made:", sim.calls("aclnnAdd")))
a = torch.ones(3, device="npu")
a + a
torch.npu.synchronize()
sim.set_latency("aclnnAdd", 100_000)
for _ in range(100):
    b = a + a
"""
    said = run(code, **WITH_CACHE).stdout
    assert "made: 101" in said
    left = said[said.index("left:"):]
    assert not any(character in left for character in "123456789"), left


@every_mode
def test_threads_streams_and_other_work_keep_their_order(mode):
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import mindtorch as torch
sys.path.insert(0, FOLDER)

def work(number):
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        x = torch.full((50,), float(number), device="npu")
        for step in range(200):
            x = x + 1
            if step % 20 == 0:
                pinned = x.cpu().pin_memory()
                y = pinned.to("npu", non_blocking=True)
                x = y * 2 - y
            if step % 50 == 0:
                other = torch.npu.Stream()
                other.wait_stream(stream)
                with torch.npu.stream(other):
                    z = x.clone()
                    x.record_stream(other)
                stream.wait_stream(other)
                z.record_stream(stream)
                x = z
    stream.synchronize()
    return x.tolist() == [number + 200.0] * 50

with ThreadPoolExecutor(4) as threads:
    print(all(threads.map(work, range(12))))
torch.npu.synchronize()
torch.npu.empty_cache()
"""
    assert run(code.replace("FOLDER", repr(str(HERE))), **mode).stdout == "True\n"


def test_modes_that_change_while_threads_launch_keep_the_order():
    code = """
import threading
import mindtorch as torch
done = threading.Event()

def work(number):
    with torch.npu.stream(torch.npu.Stream()):
        x = torch.full((50,), float(number), device="npu")
        for step in range(600):
            x = x + 1 if step % 2 else x * 1
        results[number] = x.tolist()

def change():
    while not done.wait(0.0002):
        torch.npu.set_task_queue_enable((torch.npu.get_task_queue_enable() + 1) % 3)

results = {}
changer = threading.Thread(target=change)
changer.start()
workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in workers:
    thread.start()
for thread in workers:
    thread.join()
done.set()
changer.join()
print(all(results[number] == [number + 300.0] * 50 for number in range(4)))
"""
    assert run(code, **WITH_CACHE).stdout == "True\n"


def test_stop_device_drops_what_is_in_the_queue():
    code = """
import threading
import mindtorch as torch
npu = torch.npu
a = torch.zeros(3, device="npu")
a.add_(1).add_(1).tolist()
before = sim.live_objects()
stream, gate = npu.current_stream(), threading.Event()
npu._launch_host_func(stream, gate.wait)
with sim.counting():
    for _ in range(2500):                        # the driver's queue takes 2013, the others stay in ours
        a.add_(1)
    print(npu.stop_device(0), sim.calls("aclnnInplaceAdds") < 2500)
gate.set()
try:
    npu.synchronize()
except RuntimeError as error:
    print("aclnnInplaceAdds failed with code" in str(error))
npu.synchronize()
npu.restart_device(0)
print(torch.ones(3, device="npu").add_(1).tolist(), sim.live_objects() == before)
"""
    assert run(COUNT_AT_EXIT + code, **WITH_CACHE).stdout.startswith("0 True\nTrue\n[2.0, 2.0, 2.0] True\n")


def test_a_last_launch_that_fails_is_shown_at_exit_with_its_line():
    code = """
import mindtorch as torch
from mindtorch import sim
sim.inject_fault("aclnnSoftmax")

def normalize(x):
    return torch.nn.functional.softmax(x, 0)     # line 7

normalize(torch.ones(3, device="npu"))
"""
    said = run(code, MINDTORCH_LAUNCH_LINES="1", **WITHOUT_CACHE).stderr
    assert "NPU error: aclnnSoftmax failed with code 500001" in said
    assert ("aclnnSoftmax was called with the tensors torch.float32 [3], torch.float32 [3] before in <string>, line 7, "
            "in normalize: the queue") in said


def test_a_stream_s_handle_comes_after_the_launches_before():
    code = """
import mindtorch as torch
from mindtorch import sim
a = torch.ones(3, device="npu")
a + a
torch.npu.synchronize()
sim.set_latency("aclnnAdd", 200_000)
with sim.counting():
    for _ in range(20):
        b = a + a
    torch.npu.current_stream().npu_stream
    print(sim.calls("aclnnAdd"))
"""
    assert run(code, TASK_QUEUE_ENABLE="1").stdout == "20\n"


def test_arguments_that_cannot_be_destroyed_are_destroyed_later():
    code = """
import mindtorch as torch
from mindtorch import sim
a = torch.ones(3, device="npu")
(a + 1.5).tolist()
live = sim.live_objects()
with sim.fault("aclDestroyTensor", times=10**6), sim.fault("aclDestroyScalar", times=10**6):
    b = a + 1.5
    torch.npu.synchronize()
    more = sim.live_objects()
del b
(a + 1.5).tolist()
torch.npu.empty_cache()
print(sum(more.values()) > sum(live.values()), sim.live_objects() == live)
"""
    assert run(code, **WITHOUT_CACHE).stdout == "True True\n"


def test_a_child_of_a_fork_has_no_queue():
    code = """
import os
import mindtorch as torch
a = torch.ones(3, device="npu")
for _ in range(100):
    b = a + a
child = os.fork()
if child == 0:
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        os._exit(7 if "forked" in str(error) else 8)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), b.tolist())
"""
    assert run(code, TASK_QUEUE_ENABLE="1").stdout == "7 [2.0, 2.0, 2.0]\n"


def test_an_idle_queue_sleeps_and_modes_change():
    code = """
import os, time
import mindtorch as torch
before = set(os.listdir("/proc/self/task"))
a = torch.ones(3, device="npu")
torch.npu.synchronize()
started = set(os.listdir("/proc/self/task"))
for mode in (1, 0, 2, 1):
    torch.npu.set_task_queue_enable(mode)
    for _ in range(50):
        a = a + 0
print(a.tolist())
made = set(os.listdir("/proc/self/task")) - started
print(len(made))
state = ""
for _ in range(3000):                           # it yields for a while before it sleeps
    state = open(f"/proc/self/task/{made.pop()}/stat").read() if len(made) == 1 else state
    name = state.split()[0]
    state = open(f"/proc/self/task/{name}/stat").read()
    if state.split()[2] == "S":
        break
    time.sleep(0.01)
print(state.split()[2])
"""
    assert run(code, TASK_QUEUE_ENABLE="0", **BY_CANN).stdout == "[1.0, 1.0, 1.0]\n1\nS\n"


@pytest.mark.sanitizers
def test_under_the_thread_sanitizer(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    program = tmp_path / "stress"
    subprocess.run([compiler, "-std=gnu11", "-O1", "-g", "-Wno-unused-function", "-fsanitize=thread", "-I",
                    ROOT / "include", HERE / "launch_queue_stress.c", "-o", program, "-lpthread"], check=True)
    done = subprocess.run([program], env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}, capture_output=True,
                          text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
