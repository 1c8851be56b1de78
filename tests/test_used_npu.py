"""`pytest --used-npu` runs the tests that used the NPU in the run before: here, or by a process of theirs."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = """
import subprocess, sys
import pytest
import mindtorch as torch

def add(device):
    x = torch.ones(2, device=device)
    assert (x + x).tolist() == [2, 2]

def test_here(device):
    add(device)

def test_by_a_process(device):
    subprocess.run([sys.executable, "-c", f"print({device!r})"], check=True)

def test_without():
    pass

@pytest.mark.one_mode
def test_marked():
    add("npu")
"""


def passed(folder, *arguments):
    """The names of the tests that pytest runs there."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True,
                          env={**clean, "MINDTORCH_NPU": "sim"})
    return {line.rpartition("::")[2] for line in done.stdout.splitlines() if line.startswith("PASSED")}


def test_what_used_the_npu_runs_again(tmp_path):
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    one_mode\n")
    (tmp_path / "test_sample.py").write_text(TESTS)
    used = {"test_here[npu]", "test_by_a_process[npu]"}
    others = {"test_here[cpu]", "test_by_a_process[cpu]", "test_without"}
    assert passed(tmp_path, "--used-npu", "-n", "2") == used | others       # nothing is known yet
    assert passed(tmp_path, "--used-npu") == used
