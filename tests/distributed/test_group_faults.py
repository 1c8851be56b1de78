"""Ranks that are late, gone, or of another mind; and the ways to start."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import HERE, ROOT, RanksFailed, run_ranks


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


@pytest.mark.parametrize(("how", "code"), [("exception", 1), ("exit", 3), ("SIGKILL", -9), ("SIGTERM", -15)])
@pytest.mark.parametrize(("step", "expected"), [
    ("start", ["Timed out waiting 1000ms for rank 1 to start MPI"]),
    ("collective", ["Timed out waiting 1000ms", "(ranks [0, 1])"]), ("end", None)])
def test_a_rank_that_is_gone_is_noticed_by_the_time_out(tmp_path, step, expected, how, code):
    with pytest.raises(RanksFailed, match=rf"ended with \[0, {code}\]"):
        run_ranks("fault_cases:lost", 2, tmp_path, backend="none", arguments=[str(tmp_path), step, how])
    error, segments = json.loads((tmp_path / "0.json").read_text())
    assert segments == []
    assert (error is None) == (expected is None)
    assert all(part in error[1] for part in expected or ())


def test_a_group_of_one_rank(tmp_path):
    first, again, premultiplied, halved, segments = run_ranks("fault_cases:one_rank", 1, tmp_path, backend="cpu:mpi")[0]
    assert first == [1, [1, 1], [2, 2], "mpi", "cpu:mpi"]
    assert (again, premultiplied, halved, segments) == (False, [3, 3], [1, 1], [])


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
    assert [json.loads(path.read_text()) for path in tmp_path.glob("*.json")] == [[[2, 2], [0, 1]]] * 2


def test_without_the_extra_the_error_names_it():
    program = ("import sys; sys.modules['mpi4py'] = None\nimport mindtorch.distributed as dist\n"
               "dist.init_process_group('mpi', store=dist.HashStore(), rank=0, world_size=1)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120, check=False)
    assert "pip install 'mindtorch[mpi]'" in done.stderr
