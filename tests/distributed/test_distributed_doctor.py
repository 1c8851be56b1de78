"""python -m mindtorch.distributed.doctor: what it measures, and what it says of ranks that are missing or silent."""
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_mode

ROOT = Path(__file__).parents[2]
DOCTOR = [sys.executable, "-m", "mindtorch.distributed.doctor", "--json"]
# Rank 1 goes silent after the start, and rank 0 waits for it a second.
SILENT = """
import datetime, signal, sys
from mindtorch.distributed import distributed_c10d, doctor
pairs = doctor._Rank._pairs

def silent_pairs(self):
    if self.rank == 1:
        signal.pause()
    distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=1))
    pairs(self)

doctor._Rank._pairs = silent_pairs
sys.exit(doctor.main())
"""


def start(command, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MINDTORCH_NPU": "off", **variables}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.parametrize(("where", "variables"), [
    ("cpu", {}), ("npu", {"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_DEVICES": "2"})])
def test_two_ranks_are_measured(where, variables):
    doctor = start([*DOCTOR, "--sizes", "4", "4096"], **variables)
    report = json.loads(doctor.communicate(timeout=120)[0])
    assert (doctor.returncode, report["problems"], report["device"]) == (0, [], where)
    assert [each["rank"] for each in report["ranks"]] == [0, 1]
    assert [each["ranks"] for each in report["pairs"]] == [[0, 1]]
    measured = report["collectives"]
    assert {(each["collective"], each["bytes"]) for each in measured} == {
        (name, size) for size in (8, 4096) for name in (
            "all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")}
    assert all(each["time_us"] > 0 for each in measured + report["pairs"])


def test_the_table_and_the_plot(tmp_path):
    doctor = start([*DOCTOR[:-1], "--device", "cpu", "--sizes", "4096", "65536", "--plot", str(tmp_path / "plot.png")])
    shown = doctor.communicate(timeout=120)[0]
    assert doctor.returncode == 0
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if "reduce" in line or "gather" in line}
    assert set(rows) >= {"all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor"}, shown
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("command", "seconds", "expected"), [
    (DOCTOR, "1", ["rank 1 has not come to the store"]),
    ([sys.executable, "-c", SILENT, "--json"], "60",
     ["messages between the ranks 0 and 1", "rank 1 has not reported"])])
def test_a_rank_that_is_missing_or_silent_is_named(command, seconds, expected):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = [*command, "--device", "cpu", "--timeout", seconds]
    rank1 = start(command, RANK="1", **job) if command[1] == "-c" else None
    try:
        rank0 = start(command, RANK="0", **job)
        problems = json.loads(rank0.communicate(timeout=120)[0])["problems"]
        assert rank0.returncode == 1
        assert len(problems) == len(expected)
        assert all(part in problem for part, problem in zip(expected, problems, strict=True))
    finally:
        if rank1 is not None:
            rank1.kill()
            rank1.communicate()
