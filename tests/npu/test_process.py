"""The ends of a process: exit with everything alive, fork, device faults, several devices. Each in its own process."""
import pytest
from process import COUNT_AT_EXIT, run


def test_nothing_is_started_without_use():
    out = run(COUNT_AT_EXIT + "torch.ones(3); print(torch.npu.is_initialized())").stdout
    assert out.split("\n")[:2] == ["False", "left: {}"]


def test_exit_with_live_objects_frees_everything():
    out = run(COUNT_AT_EXIT + """
a = torch.ones((300, 300), device="npu")
stream = torch.npu.Stream()
with torch.npu.stream(stream):
    b = a @ a
event = stream.record_event()
timed = torch.npu.Event(enable_timing=True)
timed.record()
there = torch.ones(1000).to("npu", non_blocking=True)
from mindtorch._npu import allocator
allocator.record_stream(a, stream)
del a
""").stdout
    assert out.strip() == "left: {}"


def test_exit_while_daemon_threads_work():
    done = run(COUNT_AT_EXIT + """
import threading, time
def work():
    while True:
        a = torch.ones((50, 50), device="npu") + 1
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
""")
    assert "Traceback" not in done.stdout


def test_daemon_threads_that_launch_until_the_end_are_told_so():
    """Each sits in a launch when the process begins to end, and comes back while the device is being closed."""
    out = run(COUNT_AT_EXIT + """
import threading
import os
threading.excepthook = lambda told: os.write(1, f"{told.exc_value}\\n".encode())
torch.ones(1, device="npu")
launched = threading.Barrier(4)
def work():
    a = torch.ones(1000, device="npu")
    launched.wait()
    while True:
        a = a + 1
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
sim.set_latency("aclnnAdds", 10_000_000)
for function in ("aclrtDestroyStream", "aclrtDestroyContext", "aclrtResetDevice", "aclFinalize"):
    sim.set_latency(function, 30_000_000)
launched.wait()
""").stdout
    *told, left = out.splitlines()
    assert told == ["the NPU has been shut down: the process is ending"] * 3
    assert left == "left: {}"


def test_several_devices():
    out = run(COUNT_AT_EXIT + """
assert torch.npu.device_count() == 2
a = torch.arange(10, device="npu:0")
b = a.to("npu:1")
assert b.device == torch.device("npu:1")
assert (b + 1).tolist() == list(range(1, 11))
assert b[2:].to("npu:0", torch.float32).tolist() == [float(i) for i in range(2, 10)]
a.copy_(b.flip(0) if hasattr(b, "flip") else b)
assert torch.npu.current_device() == 0
with torch.npu.device(1):
    assert torch.npu.current_device() == 1
    c = torch.ones(3, device="npu")
    assert c.device.index == 1
    assert torch.npu.current_stream().device_index == 1
assert torch.npu.current_device() == 0
with torch.npu.device_of(c):
    assert torch.npu.current_device() == 1
torch.npu.set_device(1)
assert torch.npu.current_device() == 1
import threading
seen = []
thread = threading.Thread(target=lambda: seen.append(torch.npu.current_device()))
thread.start(); thread.join()
assert seen == [0]
assert torch.npu.memory_allocated(0) > 0 and torch.npu.memory_allocated(1) > 0
assert torch.npu.can_device_access_peer(0, 1) and not torch.npu.can_device_access_peer(0, 0)
torch.npu.enable_peer_access(0)
torch.npu.disable_peer_access(0)
try:
    a + b
except RuntimeError as error:
    print("refused")
try:
    torch.ones(3, device="npu:7")
except RuntimeError as error:
    assert "invalid device ordinal 7: 2 device(s) available" in str(error), error
zero, one = torch.ones(3, device="npu:0"), torch.ones(3, device="npu:1")
for _ in range(3):                       # the thread's context follows the tensors
    assert (one + one).tolist() == [2, 2, 2]
    assert zero.tolist() == [1, 1, 1]
    zero = zero * torch.tensor(1.0)      # a number on the CPU beside a tensor of npu:0
big = torch.ones(1_000_000, device="npu:0")
assert big.to("npu:1").sum().item() == 1_000_000
torch.npu.empty_cache()
""", MINDTORCH_SIM_DEVICES="2").stdout
    assert out.splitlines() == ["refused", "left: {}"]


def test_stream_of_another_device_orders_across_devices():
    out = run("""
import mindtorch as torch
a = torch.ones((400, 400), device="npu:0")
for _ in range(10):
    a = a @ a * (1 / 400)
torch.npu.set_device(1)
done = torch.npu.current_stream(0).record_event()
torch.npu.current_stream(1).wait_event(done)
b = torch.ones(3, device="npu:1")
torch.npu.synchronize(1)
print(done.query(), b.sum().item())
try:
    event = torch.npu.Event()
    event.record(torch.npu.current_stream(0))
    event.record(torch.npu.current_stream(1))
except RuntimeError as error:
    print(error)
""", MINDTORCH_SIM_DEVICES="2").stdout.splitlines()
    assert out == ["True 3.0", "Event device npu:0 does not match recording stream's device npu:1."]


def test_forked_child_may_not_use_the_npu():
    out = run(COUNT_AT_EXIT + """
import os, sys
a = torch.ones(3, device="npu")
pid = os.fork()
if pid == 0:
    assert not torch.npu.is_initialized()
    assert torch.npu._is_in_bad_fork()
    for use in (lambda: a + a, lambda: torch.ones(2, device="npu"), lambda: a.tolist(), torch.npu.synchronize,
                torch.npu.Stream, torch.npu.current_device):
        try:
            use()
        except RuntimeError as error:
            assert str(error).startswith("Cannot re-initialize NPU in forked subprocess"), error
        else:
            raise SystemExit(3)
    del a
    sys.exit(0)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), (a + 1).tolist())
""").stdout
    assert "0 [2.0, 2.0, 2.0]" in out
    assert out.splitlines()[-1] == "left: {}"


def test_fork_before_the_first_use_is_fine():
    out = run("""
import os, sys
import mindtorch as torch
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
print(torch.ones(3, device="npu").sum().item(), flush=True)
""").stdout
    assert out.split() == ["3.0", "3.0"]


def test_fork_after_only_asking_for_devices():
    out = run("""
import os
import mindtorch as torch
torch.npu.is_available(), torch.npu.device_count()
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
print(torch.npu.is_available(), torch.ones(3, device="npu").sum().item(), flush=True)
""").stdout
    assert out.splitlines() == ["True 3.0"] * 2


def test_fork_while_the_device_multiplies():
    out = run("""
import os, signal, sys, threading
import mindtorch as torch
signal.alarm(300)
a = torch.ones((256, 256), device="npu")
over = False
def work():
    while not over:
        (a @ a).sum().item()
thread = threading.Thread(target=work)
thread.start()
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        signal.alarm(150)
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
over = True
thread.join()
print((a @ a)[0, 0].item())
""", OPENBLAS_NUM_THREADS="2").stdout
    assert out.split() == ["256.0"]


def test_device_fault_surfaces_later_and_exit_is_safe():
    done = run(COUNT_AT_EXIT + """
a = torch.ones(3, device="npu")
torch.npu.synchronize()
sim.inject_device_fault(507015)
b = a + a
seen = 0
for use in (torch.npu.synchronize, lambda: b.tolist(), lambda: (b + 1).tolist()):
    try:
        use()
    except RuntimeError as error:
        assert "507015" in str(error), error
        seen += 1
print("seen", seen)
del b
""")
    assert done.stdout.splitlines() == ["seen 3", "left: {}"]
    assert "Traceback" not in done.stderr


KERNEL_FAULTS = (
    ("x[torch.tensor([3, 12], device='npu')]", "aclnnIndex", "index 12 is out of bounds for a dimension of size 10 "
     "(self FLOAT[10], indices[0] INT64[2], out FLOAT[2])"),
    ("x.take(torch.tensor([-11], device='npu'))", "aclnnTake", "index -11 is out of bounds for a dimension of size 10"),
    ("x.gather(0, torch.tensor([10], device='npu'))", "aclnnGather",
     "index 10 is out of bounds for a dimension of size 10"),
    ("x.index_select(0, torch.tensor([10], device='npu'))", "aclnnIndexSelect",
     "index 10 is out of bounds for a dimension of size 10 (self FLOAT[10], index INT64[1], out FLOAT[1])"),
    ("torch.nn.functional.embedding(torch.tensor([7], device='npu'), x.view(5, 2))", "aclnnEmbedding",
     "index 7 is out of bounds for a dimension of size 5 (weight FLOAT[5,2], indices INT64[1], out FLOAT[1,2])"),
    ("torch.nn.functional.nll_loss(x.view(5, 2), torch.tensor([0, 1, 2, 0, 1], device='npu'))", "aclnnNLLLoss",
     "index 2 is out of bounds for a dimension of size 2 (self FLOAT[5,2], target INT64[5]"),
)


@pytest.mark.parametrize("blocking", ["0", "1"])
def test_a_kernel_fault_names_operator_arguments_and_bound(blocking):
    done = run(f"""
import os, sys
import mindtorch as torch
for call in {[call for call, *_ in KERNEL_FAULTS]!r}:
    if os.fork() == 0:
        x = torch.arange(10.0, device="npu")
        try:
            eval(call)
            print("returned, then ", end="")
            torch.npu.synchronize()
        except RuntimeError as error:
            print(str(error).replace(chr(10), " "), flush=True)
        sys.exit()
    os.wait()
""", ACL_LAUNCH_BLOCKING=blocking)
    for line, (_, operator, bound) in zip(done.stdout.splitlines(), KERNEL_FAULTS, strict=True):
        assert line.startswith("returned") == (blocking == "0")
        assert operator in line
        assert bound in line
        assert ("perhaps one called long before: with ACL_LAUNCH_BLOCKING=1" in line) == (blocking == "0")
        assert ". The device stays unusable: restart" in line


def test_launch_blocking_reports_a_device_fault_at_the_op():
    out = run("""
import mindtorch as torch
from mindtorch import sim
a = torch.ones(3, device="npu")
sim.inject_device_fault(507015)
try:
    a + a
except RuntimeError as error:
    print("at the op" if "507015" in str(error) else error)
""", ACL_LAUNCH_BLOCKING="1").stdout
    assert out.strip() == "at the op"
