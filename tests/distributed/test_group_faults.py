"""Ranks that are late, that have died, or that call another collective; and the ways to start."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from ranks import HERE, ROOT, run_ranks

pytestmark = pytest.mark.one_mode


def test_detail_names_the_ranks_that_differ(tmp_path):
    zero, one = run_ranks("fault_cases:mismatches", 2, tmp_path, env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"})
    assert zero[:2] == one[:2] == [[2, 2], [0, 1]]
    expected = [(("shapes=[[1]]", "shapes=[[2]]")), (("BARRIER()", "ALLREDUCE(")), (("root=0", "root=1")),
                (("torch.float32", "torch.float64")), (("RedOpType.SUM", "RedOpType.MAX"))]
    for (kind, text), (other_kind, other_text), differing in zip(zero[2:7], one[2:7], expected, strict=True):
        assert kind == other_kind == "RuntimeError"
        assert "Detected mismatch between collectives on ranks. Rank 0 is running" in text
        assert "but Rank 0 is running" in other_text
        assert all(part in text and "fault_cases.py:" in text for part in differing)
    assert "Detected that rank 1 has not called collective" in zero[7][1]


def test_time_outs_name_operation_and_group(tmp_path):
    zero, _ = run_ranks("fault_cases:time_outs", 2, tmp_path)
    for (kind, text), operation in zip(zero[:4], ("ALLREDUCE", "ALLREDUCE", "RECV", "ALLREDUCE"), strict=True):
        assert kind == "DistBackendError"
        assert f"Timed out waiting 1000ms for {operation} operation to complete on rank 0" in text
    assert zero[4] == ["RuntimeError", "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 1000 ms"]
    assert zero[5] == ["RuntimeError", "[Rank 0]: Ranks 1 failed to pass monitoredBarrier in 1000 ms"]


# (how a rank ends, its exit code, which it is), (engine, step at which it ends): what its peer's error says.
ENDS = [("exception", 1, 0), ("exit", 3, 1), ("SIGKILL", -9, 1), ("SIGTERM", -15, 0)]
ERRORS = {"mpi": {"start": ["Timed out waiting 2000ms for rank {} to start MPI"],
                  "joining": ["Timed out waiting 2000ms for rank {} to start MPI"],
                  "collective": ["Timed out waiting 4000ms for ALLREDUCE", "rank {} has "]},
          "hccl": {"start": ["rank {}"], "joining": ["rank {}"], "collective": ["EI0002", "rank {}"]}}


@pytest.mark.parametrize("engine", ["mpi", "hccl"])
def test_a_rank_that_is_gone_is_named(tmp_path, engine):
    steps = ["start", "joining", "collective", "end"]
    cases = [(step, how, lost) for step in steps for how, _, lost in ENDS]
    codes = [code if rank == lost else 0 for _ in steps for _, code, lost in ENDS for rank in range(2)]
    environment = {"MINDTORCH_NPU": "sim", "HCCL_IF_IP": "127.0.0.1", "TORCH_HCCL_ASYNC_ERROR_HANDLING": "0"}
    outcomes = run_ranks("fault_cases:lost", 2 * len(cases), tmp_path, backend="none", exit_codes=codes,
                         arguments=[str(tmp_path), engine, cases], env=environment)
    for number, (step, how, lost) in enumerate(cases):
        error, segments = outcomes[2 * number + 1 - lost]
        assert segments == []
        expected = ERRORS[engine].get(step)
        assert (error is None) == (expected is None), (step, how, error)
        assert all(part.format(lost) in error[1] for part in expected or ()), (step, how, error)


@pytest.mark.parametrize("engine", ["mpi", "hccl"])
def test_nothing_is_left_of_a_job_of_torchrun(tmp_path, engine):
    """Whatever ends at whatever step: one of its ranks, which its error names, or torchrun itself."""
    steps = ["start", "joining", *(["named"] if engine == "mpi" else []), "collective", "end"]
    cases = [(step, how, lost) for step in steps for how, _, lost in [*ENDS, ("agent", None, 1)]]
    codes = {how: code for how, code, _ in ENDS}
    reports = run_ranks("fault_cases:launched", len(cases), tmp_path, backend="none",
                        exit_codes=[0 if how in codes else -9 for _, how, _ in cases],
                        arguments=[str(tmp_path), engine, cases],
                        env={"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_MEMORY": "64MiB", "HCCL_BUFFSIZE": "1",
                             "HCCL_IF_IP": "127.0.0.1"})
    for (step, how, lost), report in zip(cases, reports, strict=True):
        if how in codes:
            expected = f"rank      : {lost} (local_rank: {lost})\n  exitcode  : {codes[how]} ("
            assert expected in (report or ""), (step, how, report)
    deadline = time.monotonic() + 60        # torchrun's guard outlives it
    while left := [*filter(is_alive, tmp_path.glob("pid.*")), *left_in_memory(tmp_path)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert len(list(tmp_path.glob("pid.*"))) == 2 * len(cases)
    assert {path.name for path in tmp_path.glob("note.*") if "/dev/shm/mindtorch_mpi_" in path.read_text()}.issuperset(
        f"note.{number}.{rank}" for number, (step, *_) in enumerate(cases) if step == "named" for rank in range(2))


def is_alive(path):
    """Whether a process, whose number the file has, runs; one that nobody has waited for does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path("/proc", path.read_text(), "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def left_in_memory(folder):
    """Notes for the guard, and the files that they are for."""
    for note in map(Path, {path.read_text() for path in folder.glob("note.*")}.difference(["None"])):
        yield from filter(Path.exists, [note, *note.parent.glob(f"mpich_shm_{note.name.rpartition('_')[2]}_*")])


def test_the_memory_of_ranks_that_were_killed_together_goes(tmp_path):
    run_ranks("fault_cases:killed_together", 2, tmp_path, backend="none", exit_codes=[-9, -9],
              arguments=[str(tmp_path)])
    left, = {Path(line.split()[-1]) for line in json.loads(tmp_path.joinpath("mapped0").read_text())}
    used = Path(tempfile.mkstemp(prefix="mpich_shm_", dir="/dev/shm")[1])
    young = Path(tempfile.mkstemp(prefix="mpich_shm_", dir="/dev/shm")[1])
    try:
        for path in (left, used):
            os.utime(path, (0, 0))
        with open(used, "rb"):
            run_ranks("fault_cases:one_rank", 1, tmp_path, backend="cpu:mpi")
            assert [path.exists() for path in (left, used, young)] == [False, True, True]
    finally:
        used.unlink()
        young.unlink()


def test_a_group_of_one_rank(tmp_path):
    first, again, premultiplied, halved, segments = run_ranks("fault_cases:one_rank", 1, tmp_path, backend="cpu:mpi")[0]
    assert first == [1, [1, 1], [2, 2], "mpi", "cpu:mpi"]
    assert (again, premultiplied, halved, segments) == (False, [3, 3], [1, 1], [])


def test_a_group_by_the_name_of_gloo(tmp_path):
    results = run_ranks("fault_cases:by_the_name_of_gloo", 2, tmp_path, backend="none", arguments=[str(tmp_path)])
    assert results == [[3.0, rank, 2, True] for rank in range(2)]


def test_groups_are_made_again_and_used_by_threads(tmp_path):
    sums = run_ranks("fault_cases:joined_again", 2, tmp_path, backend="none", arguments=[str(tmp_path)])
    assert sums == [[1, 1, 21, 21]] * 2


def test_under_mpiexec_the_ranks_are_those_of_mpi(tmp_path):
    program = ("import json, os, sys; import fault_cases, mindtorch, mindtorch.distributed\n"
               "found = fault_cases.rank_of_launcher(mindtorch, 0, 0)\n"
               "open(f'{sys.argv[1]}/{os.getpid()}.json', 'w').write(json.dumps(found))")
    variables = {**os.environ, "PYTHONPATH": f"{ROOT}:{HERE}", "MINDTORCH_NPU": "off"}
    subprocess.run([Path(sys.executable).parent / "mpiexec", "-n", "2", sys.executable, "-c", program, tmp_path],
                   env=variables, timeout=120, check=True)
    assert [json.loads(path.read_text()) for path in tmp_path.glob("*.json")] == [[[2, 2], [0, 1], []]] * 2


def test_without_the_extra_the_error_names_it():
    program = ("import sys; sys.modules['mpi4py'] = None\nimport mindtorch.distributed as dist\n"
               "dist.init_process_group('mpi', store=dist.HashStore(), rank=0, world_size=1)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120, check=False)
    assert "pip install 'mindtorch[mpi]'" in done.stderr
