"""mindtorch.sim: counters, faults and latencies of the simulated toolkit, reached without the compiled parts."""
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

SIM = Path(__file__).resolve().parents[2] / "mindtorch" / "sim.py"

PROGRAM = """
import ctypes, runpy, sys
sim = runpy.run_path({sim!r})
acl = ctypes.CDLL(str(sim["toolkit"]() / "lib64" / "libascendcl.so"))
{body}
"""


def run_program(body):
    """Runs `body` in a process of its own, with `sim` (the names of mindtorch.sim) and `acl` (the library)."""
    program = PROGRAM.format(sim=str(SIM), body=body)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("program", [[SIM], ["-m", "mindtorch.sim"]], ids=["file", "module"])
def test_the_root_is_printed_and_nothing_else(program):
    done = subprocess.run([sys.executable, *program], cwd=SIM.parents[1], capture_output=True, text=True, check=True)
    out = done.stdout.strip()
    assert (Path(out), done.stderr) == (SIM.parent / "_sim" / "toolkit", "")
    assert (Path(out) / "lib64" / "libascendcl.so").is_file()


def test_live_objects():
    assert run_program("""
print(sim["live_objects"]() == {})
acl.aclInit(None); acl.aclrtSetDevice(0)
stream = ctypes.c_void_p()
acl.aclrtCreateStream(ctypes.byref(stream))
print(sim["live_objects"]() == {"context": 1, "stream": 1})
acl.aclFinalize()
print(sim["live_objects"]() == {})
""") == ["True"] * 3


def test_faults():
    assert run_program("""
sim["inject_fault"]("aclInit", code=100003)
print(acl.aclInit(None), acl.aclInit(None))
with sim["fault"]("aclrtSetDevice", nth=2, code=207001, times=2):
    print(*[acl.aclrtSetDevice(0) for _ in range(4)])
with sim["fault"]("aclrtSetDevice", code=207001):
    pass
print(acl.aclrtSetDevice(0))
sim["inject_fault"]("aclrtSetDevice")
sim["clear_faults"]()
print(acl.aclrtSetDevice(0))
sim["inject_device_fault"](507015)
acl.aclrtMemsetAsync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p]
memory = ctypes.c_void_p()
acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(64), 0)
print(acl.aclrtMemsetAsync(memory, 64, 0, 64, None), acl.aclrtSynchronizeDevice())
""") == ["100003", "0", "0", "207001", "207001", "0", "0", "0", "0", "507015"]


def test_counting():
    assert run_program("""
acl.aclInit(None)
with sim["counting"]() as counts:
    acl.aclrtSetDevice(0); acl.aclrtSetDevice(0)
    print(sim["calls"]("aclrtSetDevice"))
acl.aclrtSetDevice(0)
print(counts["aclrtSetDevice"], counts["aclrtMalloc"], len(counts))
""") == ["2", "2", "0", "1"]


def test_latency():
    begin = time.perf_counter()
    run_program('sim["set_latency"]("aclInit", 300_000_000); acl.aclInit(None)')
    assert time.perf_counter() - begin >= 0.3


def test_cost(monkeypatch):
    program = 'print(sim["cost"]("phase1"), sim["cost"]("aclrtMemcpyAsync"), sim["cost"]("aclrtGetDevice"))'
    for profile, costs in {"": ["0", "0", "0"], "low": ["3000", "2000", "0"], "high": ["15000", "8000", "0"]}.items():
        monkeypatch.setenv("MINDTORCH_SIM_COST", profile)
        assert run_program(program) == costs


@pytest.mark.parametrize("arguments", [{"nth": 0}, {"times": 0}])
def test_counts_from_one(arguments):
    with pytest.raises(ValueError, match="count from 1"):
        runpy.run_path(str(SIM))["inject_fault"]("aclInit", **arguments)
