"""What torch.npu asks of the chip: shares of its cores, errors of its memory, marks for its profilers."""
import ctypes
import shutil
import subprocess
import threading

import pytest

import mindtorch as torch
from mindtorch import npu, sim
from mindtorch.npu import _limits, _mstx

ALL = {"cube_core_num": 24, "vector_core_num": 48}


# --- cores -----------------------------------------------------------------------------------------------------------

def in_this_thread():
    """The limits that the calling thread's operators have."""
    from mindtorch._npu import acl
    return tuple(acl.rt.get_res_in_current_thread(kind)[0] for kind in (acl.CUBE_CORE_LIMIT, acl.VECTOR_CORE_LIMIT))


@pytest.fixture(autouse=True)
def _no_limits_left():
    yield
    npu.set_device_limit(0, *ALL.values())
    for stream in [*_limits._limited]:
        npu.reset_stream_limit(stream)


def test_a_device_may_be_limited():
    assert npu.get_device_limit(0) == ALL
    npu.set_device_limit("npu", cube_num=20)
    assert npu.get_device_limit(0) == {**ALL, "cube_core_num": 20}
    npu.set_device_limit(0, 12, 30)
    assert npu.get_stream_limit(npu.current_stream()) == {"cube_core_num": 12, "vector_core_num": 30}
    assert in_this_thread() == (12, 30)


def test_the_limits_of_a_stream_are_those_of_the_thread_that_uses_it():
    stream = npu.Stream()
    npu.set_stream_limit(stream, vector_num=8)
    assert npu.get_stream_limit(stream) == {**ALL, "vector_core_num": 8}
    assert in_this_thread() == (24, 48)
    with npu.stream(stream):
        assert in_this_thread()[1] == 8
        seen = []
        thread = threading.Thread(target=lambda: seen.append((torch.ones(1, device="npu").item(), in_this_thread())))
        thread.start()
        thread.join()
        with npu.stream(npu.Stream()):
            assert in_this_thread() == (24, 48)
        npu.set_stream_limit(stream, cube_num=3)
        assert in_this_thread() == (3, 8)
        assert (torch.ones(3, device="npu") + 1).tolist() == [2, 2, 2]
    assert in_this_thread() == (24, 48)
    assert seen == [(1, (24, 48))]
    with stream:
        npu.reset_stream_limit(stream)
        assert in_this_thread() == (24, 48)
    assert npu.get_stream_limit(stream) == ALL


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ((25, 1), ValueError, "cube_core_num is 25, expected 1 to 24, or -1"), ((1, 0), ValueError, "vector_core_num is 0"),
    ((1, "x"), TypeError, "vector_core_num must be int, not str")])
def test_limits_that_cannot_be(arguments, error, message):
    for limit, place in ((npu.set_device_limit, 0), (npu.set_stream_limit, npu.current_stream())):
        with pytest.raises(error, match=message):
            limit(place, *arguments)
    assert npu.get_device_limit(0) == npu.get_stream_limit(npu.current_stream()) == ALL
    with pytest.raises(TypeError, match=r"stream must be torch\.npu\.Stream, not int"):
        npu.set_stream_limit(3, 1)
    with pytest.raises(AssertionError, match="Invalid device id"):
        npu.set_device_limit(99, 1)


# --- memory ----------------------------------------------------------------------------------------------------------

@pytest.fixture
def error_at():
    yield sim.inject_memory_error
    sim.clear_faults()


def test_where_memory_has_errors(error_at):
    npu.empty_cache()
    assert npu.check_uce_in_memory(0) == 0
    kept = torch.empty(3 << 20, dtype=torch.uint8, device="npu")
    address = kept.data_ptr()
    error_at(64, 64)
    assert npu.check_uce_in_memory(0) == 1
    error_at(address + (1 << 20), 512)
    assert npu.check_uce_in_memory("npu:0") == 3
    del kept
    assert npu.memory_reserved() > 0
    assert npu.check_uce_in_memory(0) == 2
    assert npu.memory_reserved() == 0
    assert npu.check_uce_in_memory(0) == 1
    with pytest.raises(AssertionError, match="Invalid device id"):
        npu.check_uce_in_memory(99)


def test_work_that_is_given_up():
    stream = npu.Stream()
    block = torch.ones(5000, device="npu")
    npu.synchronize()
    gate, waits, outcomes, ran = threading.Event(), threading.Event(), [], []

    def wait():
        waits.set()
        try:
            stream.synchronize()
        except RuntimeError as error:
            outcomes.append(str(error))
    npu._launch_host_func(stream, gate.wait)
    npu._launch_host_func(stream, lambda: ran.append(1))
    with npu.stream(stream):
        result = block + 1
    block.record_stream(stream)
    event = stream.record_event()
    del block
    thread = threading.Thread(target=wait)
    thread.start()
    waits.wait()
    assert npu.stop_device(0) == 0
    gate.set()
    thread.join()
    npu.restart_device(0)
    assert ran == []
    assert stream.query()
    assert event.query()
    # None, where the thread came too late to wait.
    assert all("aclrtSynchronizeStream failed" in text for text in outcomes)
    with npu.stream(stream):
        assert (result * 0 + 2).shape == (5000,)
        assert torch.ones(3, device="npu").sum().item() == 3
    with sim.fault("aclrtDeviceTaskAbort", 1, 507899):
        assert npu.stop_device(0) == 1
    with pytest.raises(RuntimeError, match="is not available: a device is closed only when the process ends"):
        npu.restart_device(0, rebuild_all_resources=True)
    with pytest.raises(AssertionError, match="Invalid device id"):
        npu.stop_device(99)


# --- marks -----------------------------------------------------------------------------------------------------------

LIBRARY = r"""
#include <stdint.h>
#include <stdio.h>
static char noted[2000], *at = noted;
static uint64_t ranges = 40;
const char *takeNotes(void) { *at = 0; at = noted; return noted; }
void mstxMarkA(const char *message, void *stream) { at += sprintf(at, "mark %s %d;", message, stream != NULL); }
uint64_t mstxRangeStartA(const char *message, void *stream) {
  at += sprintf(at, "start %s %d;", message, stream != NULL);
  return ++ranges;
}
void mstxRangeEnd(uint64_t range) { at += sprintf(at, "end %d;", (int)range); }
void *mstxDomainCreateA(const char *name) { at += sprintf(at, "domain %s;", name); return noted; }
void mstxDomainMarkA(void *domain, const char *message, void *stream) {
  at += sprintf(at, "%d ", domain == noted);
  mstxMarkA(message, stream);
}
uint64_t mstxDomainRangeStartA(void *domain, const char *message, void *stream) {
  at += sprintf(at, "%d ", domain == noted);
  return mstxRangeStartA(message, stream);
}
void mstxDomainRangeEnd(void *domain, uint64_t range) {
  at += sprintf(at, "%d ", domain == noted);
  mstxRangeEnd(range);
}
"""


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """What a library of marks has been told since the last call."""
    (tmp_path / "source.c").write_text(LIBRARY, encoding="utf-8")
    path = tmp_path / "libms_tools_ext.so"
    subprocess.run([shutil.which("cc"), "-shared", "-fPIC", tmp_path / "source.c", "-o", path], check=True)
    from mindtorch._npu import toolkit
    monkeypatch.setattr(toolkit, "find_library", lambda root, name: path)
    _mstx._library.cache_clear()
    _mstx._domain.cache_clear()
    take = ctypes.CDLL(str(path)).takeNotes
    take.restype = ctypes.c_char_p
    yield lambda: take().decode().split(";")[:-1]
    _mstx._library.cache_clear()
    _mstx._domain.cache_clear()


def test_marks(notes):
    npu.mstx.mark("here")
    npu.mstx.mark("there", npu.Stream())
    number = npu.mstx.range_start("step", npu.current_stream())
    npu.mstx.range_end(number)
    assert notes() == ["mark here 0", "mark there 1", "start step 1", "end 41"]
    npu.mstx.mark("one", domain="mine")
    npu.mstx.range_end(npu.mstx.range_start("two", domain="mine"), "mine")
    assert notes() == ["domain mine", "1 mark one 0", "1 start two 0", "1 end 42"]


def test_ranges_around_functions_and_inside_one_another(notes):
    @npu.mstx.mstx_range("work", domain="default")
    def halve(number):
        return 1 / number
    assert halve(2) == 0.5
    assert halve.__name__ == "halve"
    with pytest.raises(ZeroDivisionError):
        halve(0)
    assert notes() == ["start work 0", "end 41", "start work 0", "end 42"]
    assert [npu.mstx.range_push("outer"), npu.mstx.range_push("inner")] == [0, 1]
    assert [npu.mstx.range_pop(), npu.mstx.range_pop(), npu.mstx.range_pop()] == [1, 0, -1]
    assert notes() == ["start outer 0", "start inner 0", "end 44", "end 43"]


def test_what_cannot_be_marked_is_only_warned_of(notes):
    for call in (lambda: npu.mstx.mark(""), lambda: npu.mstx.mark(3), lambda: npu.mstx.mark("x", 5),
                 lambda: npu.mstx.mark("x", None, ""), lambda: npu.mstx.range_start(None),
                 lambda: npu.mstx.range_start("x", domain=3), lambda: npu.mstx.range_end("x"),
                 lambda: npu.mstx.range_end(-1), lambda: npu.mstx.range_end(1, 3)):
        with pytest.warns(UserWarning, match=r"^Invalid \w+ for mstx\.\w+ func"):
            assert not call()
    assert notes() == []


def test_marks_without_a_library_have_no_effect():
    assert npu.mstx.mark("x") is None
    assert npu.mstx.range_start("x", npu.current_stream(), "mine") == 0
    npu.mstx.range_end(0, "mine")
