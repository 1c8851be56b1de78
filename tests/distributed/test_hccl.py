"""The engine hccl between two processes on the simulator: collectives beside torch on gloo, time-outs, mismatches."""
import itertools
import json
import sys
import threading

import pytest
from hccl_cases import CASES
from ranks import RanksFailed, run_once, run_ranks

import mindtorch
from mindtorch import _backend
from mindtorch.distributed import _watchdog
from mindtorch.distributed._checked_backend import line_of_program

# Errors are raised by the next synchronization, where the watchdog does not abort the process.
ENVIRONMENT = {"MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1", "TORCH_HCCL_ASYNC_ERROR_HANDLING": "0"}


def run_hccl(folder, function, *arguments, backend="hccl", size=2, **env):
    return run_ranks(f"hccl_cases:{function}", size, folder, arguments=arguments, env={**ENVIRONMENT, **env},
                     backend=backend)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """library -> rank -> case -> result."""
    def on_gloo(folder):
        return run_ranks("hccl_cases:run_all", 2, folder, "torch", arguments=["cpu"])

    return {"mindtorch": run_once(tmp_path_factory, "hccl", run_hccl, "run_all", "npu"),
            "torch": run_once(tmp_path_factory, "hccl_torch", on_gloo)}


@pytest.mark.parametrize("name", CASES)
def test_two_npus_have_the_results_of_torch(outcomes, name):
    for rank in range(2):
        assert outcomes["mindtorch"][rank][name] == outcomes["torch"][rank][name], f"rank {rank}"


def test_what_hccl_has_beyond_gloo(tmp_path):
    for rank, results in enumerate(run_hccl(tmp_path, "only_hccl")):
        assert results == {
            "avg": [1.5] * 3, "avg of integers": [2] * 3, "premul_sum": [1.5] * 3,
            "all_gather of other sizes": [[1.0], [2.0] * 4],
            "reduce_scatter of other sizes": [2.0 + 2 * rank] * (rank + 1),
            "all_to_all": [[0.0], [1.0, 1.0]], "coalesced": [[1.0] * 2, [10.0] * 3], "future": [20.0] * 4,
            "captured": [[7.0] * 2, [61.0] * 2, "The first collective of a group connects its ranks, which a graph "
                         "cannot capture: call one before the capture", [30.0] * 2],
            "fully_shard": ["npu", "npu"],
            "band": "ValueError: Cannot use ReduceOp.BAND with HCCL",
            "cpu": "RuntimeError: No backend type associated with device type cpu",
            "strides": "ValueError: Tensors must be contiguous",
            "type": "RuntimeError: NPU error: HcclAllReduce failed with code 5 (feature not supported)"}


def test_a_collective_comes_after_the_launches_in_the_queue(tmp_path):
    assert run_hccl(tmp_path, "after_queued_launches") == [[40.0] * 3] * 2


def test_only_a_barrier_lets_the_host_wait(tmp_path):
    assert run_hccl(tmp_path, "after_a_barrier") == [[True, [4.0, 4.0]]] * 2


def test_a_rank_that_does_not_come_is_named_after_the_time_out(tmp_path):
    stuck, away = run_hccl(tmp_path, "time_out", str(tmp_path), backend="none")
    assert away == "away"
    assert "EI0002" in stuck
    assert "rank 1" in stuck


def test_unequal_counts_are_an_error_on_both_ranks(tmp_path):
    for raised, found in run_hccl(tmp_path, "mismatch", str(tmp_path), backend="none"):
        assert "EI0005" in raised
        assert "count differs between ranks" in raised
        assert "HCCL error 1 (parameter error)" in found


def test_a_rank_that_waits_in_the_standard_library_is_at_the_line_of_the_program():
    entered, leave = threading.Event(), threading.Event()

    def wait():
        entered.set()
        leave.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    entered.wait()
    line = line_of_program(sys._current_frames()[thread.ident])
    leave.set()
    thread.join()
    first = wait.__code__.co_firstlineno
    assert line in (f"{__file__}:{first + 1}", f"{__file__}:{first + 2}")


@pytest.mark.parametrize(("engine", "device"), [("hccl", "npu"), ("mpi", "cpu")])
def test_the_watchdog_says_which_rank_is_late(tmp_path, engine, device):
    for text, threads in run_hccl(tmp_path, "late_rank", str(tmp_path), engine, device, backend="none"):
        first, zero, one, behind = text.splitlines()
        assert first.startswith("[Rank 0] waits in group '0' for ")
        assert first.endswith("ALLREDUCE (number 2):")
        assert "rank 0 has called 2 collectives, the last ALLREDUCE, and is at" in zero
        assert "rank 1 has called 1 collectives, the last ALLREDUCE, and is at" in one
        assert all("hccl_cases.py:" in line for line in (zero, one)), text
        assert behind == "  behind: rank 1"
        assert "watchdog" not in threads        # it ends with the last group


def test_the_watchdog_aborts_where_nobody_waits(tmp_path):
    with pytest.raises(RanksFailed, match=r"ended with \[-6, 0\]") as failed:
        run_hccl(tmp_path, "nobody_waits", str(tmp_path), backend="none", TORCH_HCCL_ASYNC_ERROR_HANDLING="3")
    text = str(failed.value)
    assert "[Rank 0] a collective of group '0' has failed: " in text
    assert "ALLREDUCE (number 2): NPU error" in text
    assert "The process is aborted." in text


def test_the_watchdog_names_the_first_collective_that_differs():
    states = {0: {"called": 3, "kinds": ["ALLREDUCE", "BROADCAST", "BARRIER"], "line": "a.py:1"},
              4: {"called": 3, "kinds": ["ALLREDUCE", "REDUCE", "BARRIER"], "line": "a.py:2"}, 6: None}
    assert _watchdog.described(1, states).splitlines() == [
        "  rank 0 has called 3 collectives, the last BARRIER, and is at a.py:1",
        "  rank 4 has called 3 collectives, the last BARRIER, and is at a.py:2",
        "  rank 6 has not said where it is: it runs on, or is gone",
        "  collective number 2 differs: rank 0 BROADCAST, rank 4 REDUCE"]


@pytest.mark.parametrize(("function", "arguments", "message"), [
    ("all_gather_v", ([4],), r"rank 0 of counts \[4\] has an input of 2 elements and an output of 3"),
    ("reduce_scatter_v", ([4], 0), r"rank 0 of counts \[4\] has an input of 2 elements and an output of 3"),
    ("all_to_all", ([3], [4]), r"the input has 2 elements for counts \[4\], the output 3 for counts \[3\]")])
def test_counts_that_do_not_fit_are_named(monkeypatch, function, arguments, message):
    monkeypatch.setenv("HCCL_IF_IP", "127.0.0.1")
    communicator = _backend.hccl().Communicator(_backend.hccl().get_root_info(0), 1, 0, 0, 60)
    output, input = mindtorch.ones(3, device="npu"), mindtorch.ones(2, device="npu")
    try:
        with pytest.raises(ValueError, match=message):
            getattr(communicator, function)(output, input, *arguments)
    finally:
        communicator.destroy()


def test_slow_links_and_another_order_of_ranks_change_no_result(outcomes, tmp_path):
    found = run_hccl(tmp_path, "run_all", "npu", MINDTORCH_SIM_HCCL_SLOW="0-1:1:1e9", MINDTORCH_SIM_HCCL_REORDER="7",
                     MINDTORCH_SIM_HCCL_TRACE=str(tmp_path))
    assert found == outcomes["torch"]
    trace = [json.loads(line) for path in tmp_path.glob("hccl-*.jsonl") for line in path.read_text().splitlines()]
    trace.sort(key=lambda line: (line["communicator"], line["number"], line["rank"]))
    operations = [list(lines) for _, lines in
                  itertools.groupby(trace, key=lambda line: (line["communicator"], line["number"]))]
    assert len(operations) > 40
    for lines in operations:
        assert [line["rank"] for line in lines] == list(range(lines[0]["ranks"]))
        assert all(line["status"] == 0 for line in lines)
        if lines[0]["function"] != "HcclBarrier":
            assert all(line["count"] > 0 and line["data_type"] < 255 for line in lines), lines
        if lines[0]["function"] == "HcclAllReduce" and len(lines) == 2:     # the pieces cross the link twice
            assert lines[1]["function"] == "HcclAllReduce"
            assert lines[0]["count"] == lines[1]["count"]
            assert all(line["end_us"] - line["begin_us"] >= 2000 for line in lines)


def test_a_rank_that_the_simulator_drops(tmp_path):
    with pytest.raises(RanksFailed, match=r"ended with \[0, -9\]"):
        run_hccl(tmp_path, "lost_rank", str(tmp_path), backend="none", MINDTORCH_SIM_HCCL_DROP="1:2")
    assert "rank 1 (its process has closed the link)" in json.loads((tmp_path / "0.json").read_text())


@pytest.mark.parametrize(("name", "value", "expected"), [
    ("SLOW", "0-1", "RANK-RANK:MILLISECONDS[:BYTES_PER_SECOND],..."), ("DROP", "1", "RANK:NUMBER"),
    ("REORDER", "x", "a number, the seed"), ("TRACE", "/none", "a folder that can be written to")])
def test_conditions_that_are_not_understood(tmp_path, name, value, expected):
    name = f"MINDTORCH_SIM_HCCL_{name}"
    (text,) = run_hccl(tmp_path, "refused_variable", str(tmp_path), backend="none", size=1, **{name: value})
    assert f'{name} is "{value}", expected {expected}' in text


def test_a_rank_alone_costs_the_modelled_device_what_many_would(tmp_path):
    """Sixteen ranks are two servers: each pass crosses 7/8 of 4 MiB within them, and 1/16 between them."""
    profile = tmp_path / "profile"
    profile.write_text("hccl.latency = 1ms\nhccl.rate = 1e9\nhccl.net.latency = 2ms\nhccl.net.rate = 1e8\n")
    (seconds,) = run_hccl(tmp_path, "modelled_ranks", str(tmp_path), backend="none", size=1,
                          MINDTORCH_SIM_COST=str(profile), MINDTORCH_SIM_HCCL_RANKS="16")
    expected = 2 * (0.001 + 4 * 2**20 * 7 / 8 / 1e9 + 0.002 + 4 * 2**20 / 16 / 1e8)
    assert min(seconds) >= expected
