"""Devices: how they are named and chosen, what they are, how they begin, and what a fork leaves of them."""
import os
import re

import pytest
import torch as torch_cpu
from process import run

import mindtorch as torch

PAIR = {"MINDTORCH_SIM_DEVICES": "2"}


# --- names -----------------------------------------------------------------------------------------------------------

NAMES = ["npu:-1", "npu:01", "npu:00", "npu:", "npu: 0", " npu", "npu:1 ", "npu:+1", "npu:0x1", "npu:0:1", "npu0",
         "npu:99999999999", "", "npu", "npu:3"]


@pytest.mark.parametrize("name", NAMES)
def test_strings_that_name_a_device_and_strings_that_do_not(name):
    def of(lib, text):
        try:
            return str(lib.device(text))
        except RuntimeError as error:
            return str(error)
    assert of(torch, name) == of(torch_cpu, name.replace("npu", "cuda")).replace("cuda", "npu")


def test_what_names_no_device():
    for call, kind, match in (
            ("torch.device('NPU')", RuntimeError, "Expected one of"),
            ("torch.device('npu', -1)", RuntimeError, "must not be negative"),
            ("torch.device(-1)", RuntimeError, "must not be negative"),
            ("torch.device('npu:0', 1)", RuntimeError, "must not include an index because index was passed explicitly"),
            ("torch.device(None)", TypeError, "invalid combination of arguments"),
            ("torch.device()", TypeError, "invalid combination of arguments"),
            ("torch.device(1.5)", TypeError, "invalid combination of arguments"),
            ("torch.device('npu', '1')", TypeError, "argument 'index' .position 2. must be int, not str"),
            ("torch.device(1, 1)", TypeError, "argument 'type' .position 1. must be str, not int"),
            ("torch.device('npu').index = 1", AttributeError, "index")):
        with pytest.raises(kind, match=match):
            exec(call)
    assert torch.device("npu") != torch.device("npu:0")
    assert torch.device(3) == torch.device("npu:3")


INDEXES = [(0, 0), (-1, -1), ("npu:1", 1), ("npu", 0), (None, 0)]


@pytest.mark.parametrize(("given", "index"), INDEXES)
def test_indexes(given, index):
    assert torch.npu._get_device_index(given, optional=True) == index


def test_what_has_no_index():
    for arguments, message in (
            (("npu",), "Expected a torch.device with a specified index or an integer, but got:npu"),
            ((None,), "Expected a torch.device with a specified index or an integer, but got:None"),
            (("cpu",), "Expected a npu device, but got: cpu"),
            (("cuda", False, True), "Expected a npu or cpu device, but got: cuda")):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            torch.npu._get_device_index(*arguments)
    assert torch.npu._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        torch.npu.synchronize("cpu")


# --- which one is current --------------------------------------------------------------------------------------------

def test_the_current_device():
    run("""
import threading
import mindtorch as torch
npu = torch.npu
npu.set_device(-1)
npu.synchronize(-1)
assert npu.current_device() == 0
with npu.device(-1), npu.device(None):
    assert npu.current_device() == 0
try:
    with npu.device("npu:1"):
        assert npu.current_device() == 1 and torch.ones(1, device="npu").device.index == 1
        raise KeyError
except KeyError:
    assert npu.current_device() == 0
on_1 = torch.ones(1, device="npu:1")
with npu.device_of(on_1), npu.device_of(torch.ones(1)):
    assert npu.current_device() == 1
    with npu.device(npu.device(0)):
        assert npu.current_device() == 0
npu.set_device(1)
npu.set_device("npu")
npu.set_device(None)
assert npu.current_device() == 1
seen = []
thread = threading.Thread(target=lambda: seen.append(npu.current_device()))
thread.start()
thread.join()
assert seen == [0]
for wrong in (2, 16, "npu:7"):
    try:
        npu.set_device(wrong)
    except RuntimeError as error:
        assert "invalid device ordinal" in str(error)
    else:
        raise AssertionError
assert npu.current_device() == 1
""", **PAIR)


def test_devices_that_do_not_exist():
    count = torch.npu.device_count()
    for question in ("get_device_name", "get_device_properties", "mem_get_info", "utilization",
                     "get_device_capability", "get_device_limit"):
        for index in (-1, count):
            with pytest.raises(AssertionError, match="Invalid device id"):
                getattr(torch.npu, question)(index)
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.npu.can_device_access_peer(count, 0)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        torch.npu.can_device_access_peer(0, -1)
    assert torch.npu.can_device_access_peer(0, 0) is False


@pytest.mark.parametrize(("visible", "count"), [
    ("0,1,2", 3), ("1,3", 2), ("2", 1), ("0,9,1", 1), ("1,0", 2), ("x", 0), ("0,x,1", 1), ("", 0)])
def test_devices_that_are_visible(visible, count):
    done = run("import mindtorch as torch; print(torch.npu.device_count())", MINDTORCH_SIM_DEVICES="4",
               ASCEND_RT_VISIBLE_DEVICES=visible)
    assert done.stdout == f"{count}\n"


# --- what it is ------------------------------------------------------------------------------------------------------

def test_properties():
    found = torch.npu.get_device_properties("npu:0")
    assert found.name == torch.npu.get_device_name(0)
    assert found.total_memory == torch.npu.mem_get_info()[1]
    assert (found.cube_core_num, found.vector_core_num, found.L2_cache_size) == (24, 48, 192 << 20)
    assert found.multi_processor_count == found.vector_core_num
    assert len(found.uuid.bytes) == 16
    assert re.fullmatch("-".join(f"[0-9a-f]{{{n}}}" for n in (8, 4, 4, 4, 12)), str(found.uuid))
    for name in ("major", "minor", "is_multi_gpu_board", "is_integrated", "max_threads_per_multi_processor",
                 "warp_size", "regs_per_multiprocessor", "gcnArchName"):
        assert getattr(found, name) is None
    with pytest.raises(AttributeError):
        found.name = "x"
    assert repr(found) == (
        f"_NPUDeviceProperties(name='{found.name}', total_memory={found.total_memory // 2**20}MB, cube_core_num=24, "
        f"vector_core_num=48, uuid={found.uuid}, L2_cache_size=192MB)")
    assert torch.npu.utilization() in range(101)


@pytest.mark.parametrize(("given", "capability"), [(None, None), ("8.0", (8, 0)), ("eight", None), ("8.x", None)])
def test_there_is_no_capability_but_one_may_be_given(given, capability, monkeypatch):
    if given is None:
        monkeypatch.delenv("TORCH_NPU_DEVICE_CAPABILITY", raising=False)
    else:
        monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", given)
    with pytest.warns(UserWarning, match="capability"):
        assert torch.npu.get_device_capability() == capability


# --- its beginning ---------------------------------------------------------------------------------------------------

def test_calls_that_wait_for_the_first_device():
    run("""
import mindtorch as torch
order = []
torch.npu._lazy_call(lambda: order.append(torch.npu.is_initialized()))
torch.npu._lazy_call(lambda: order.append(torch.ones(2, device="npu").sum().item()))
assert order == [] and not torch.npu.is_initialized() and torch.npu.default_generators == ()
torch.npu.init()
assert order == [True, 2]
torch.npu._lazy_call(lambda: order.append("at once"))
assert order[2] == "at once" and len(torch.npu.default_generators) == torch.npu.device_count()
torch.npu.ipc_collect()
""")


def test_a_call_that_fails_tells_where_it_was_asked_for():
    run("""
import mindtorch as torch
def asked_for_here():
    torch.npu._lazy_call(lambda: 1 / 0)
asked_for_here()
try:
    torch.ones(1, device="npu")
except Exception as error:
    assert type(error).__name__ == "DeferredNpuCallError"
    assert "NPU call failed lazily at initialization with error: division by zero" in str(error)
    assert "in asked_for_here" in str(error) and not isinstance(error, RuntimeError)
else:
    raise AssertionError
assert torch.ones(1, device="npu").item() == 1
""")


# --- forks -----------------------------------------------------------------------------------------------------------

IN_THE_CHILD = """
assert torch.npu._is_in_bad_fork() and not torch.npu.is_initialized()
torch.manual_seed(3)
torch.npu.manual_seed_all(3)
for use in (torch.npu.init, lambda: torch.ones(1, device="npu"), torch.npu.get_rng_state, torch.npu.Stream):
    try:
        use()
    except RuntimeError as error:
        assert str(error).startswith("Cannot re-initialize NPU in forked subprocess. To use NPU with"), error
    else:
        raise AssertionError(use)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_child_of_a_raw_fork():
    run(f"""
import os
import mindtorch as torch
kept = torch.ones(3, device="npu")
pinned = torch.ones(3, pin_memory=True)
child = os.fork()
if child == 0:
    try:
        {IN_THE_CHILD.strip().replace(chr(10), chr(10) + "        ")}
        del kept, pinned
        os._exit(0)
    except BaseException as error:
        print(repr(error), flush=True)
        os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert not torch.npu._is_in_bad_fork() and kept.tolist() == [1, 1, 1]
""")


def test_the_child_of_multiprocessing():
    run(f"""
import multiprocessing
import mindtorch as torch
def work():
    {IN_THE_CHILD.strip().replace(chr(10), chr(10) + "    ")}
torch.ones(3, device="npu")
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
assert child.exitcode == 0
""")
