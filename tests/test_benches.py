"""The benches of host cost run, and leave out no row of the op table; what they measure is theirs to say."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch._ops.codegen.rows import Table

pytestmark = pytest.mark.one_mode

ROOT = Path(__file__).parent.parent


def output(module, *arguments):
    # pytest-benchmark saves nothing in a process that says that it works for xdist.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    return subprocess.run([sys.executable, "-m", module, *arguments], check=True, cwd=ROOT, capture_output=True,
                          text=True, env=environment).stdout


def test_pytest_collects_the_benches_and_saved_runs_are_compared(tmp_path):
    """Two saved runs of two rungs: the same ratio passes, a ratio that has grown fails; the page shows both."""
    storage = tmp_path / "benchmarks"
    shown = output("pytest", "bench", "-k", "relu and (operators or torch) and not torch_npu", "--benchmark-autosave",
                   f"--benchmark-storage={storage}")
    assert "2 passed" in shown
    (first,) = storage.glob("*/0001_*.json")
    saved = json.loads(first.read_text())
    times = {(b["group"], b["name"]): b["stats"]["median"] for b in saved["benchmarks"]}
    assert set(times) == {("a.relu()", "mindtorch"), ("a.relu()", "torch CPU")}
    assert all(1e-8 < time < 1e-4 for time in times.values())       # of one operator, not of a thousand
    least = next(b["stats"]["min"] for b in saved["benchmarks"] if b["name"] == "mindtorch")
    for number, factor in (("0002", 1.1), ("0003", 2)):
        for bench in saved["benchmarks"]:
            if bench["name"] == "mindtorch":
                bench["stats"]["min"] = least * factor
                bench["stats"]["median"] = least * 100          # of a loaded machine
        first.with_name(f"{number}_.json").write_text(json.dumps(saved))
    command = [sys.executable, "-m", "bench.saved", "--storage", storage]
    assert "0 ratios have grown" in output("bench.saved", "--storage", storage, "compare", "0001", "0002")
    compared = subprocess.run([*command, "compare"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert compared.returncode == 1
    assert "GROWN" in compared.stdout
    assert output("bench.saved", "report", "--storage", storage, "--output", tmp_path / "bench.html").strip().endswith(
        "bench.html")
    page = (tmp_path / "bench.html").read_text()
    assert page.count("<rect") == 2
    assert page.count("<circle") == 3


def test_every_row_is_measured_or_has_a_reason():
    shown = output("bench.rows", "--rounds", "1")
    words = set(shown.replace(",", " ").split())
    assert [row.key for row in Table().rows if row.key not in words] == []
    assert "WITHOUT A REASON" not in shown


def test_rows_are_picked_by_words():
    shown = output("bench.rows", "--rounds", "1", "logsumexp", "unsqueeze")
    assert "2 of 2 rows measured with null kernels\neach launch of 1 rows: " in shown
    assert "\n1 views: " in shown


def test_training():
    shown = output("bench.training", "1").splitlines()
    figures = [line for line in shown if line.startswith("training step")]
    assert [len(line.split()) for line in figures] == [7]     # two words, two figures with units, a ratio
    titles = ("SGD  ", "SGD, momentum  ", "Adam  ", "AdamW  ")
    steps = shown[next(at for at, line in enumerate(shown) if line.startswith("MLP")):]
    assert [sum(line.startswith(title) for line in steps) for title in titles] == [1] * len(titles)
    assert shown[-1].endswith("of 4 steps above 0.6 x torch's")


def test_gpt():
    figures = output("bench.gpt", "1").splitlines()[-3:]
    assert [line.split()[:2] for line in figures] == [["mindtorch", "cpu"], ["mindtorch", "npu"], ["torch", "cpu"]]
    assert all(line.endswith("x torch") for line in figures)


def test_cpu():
    figures = [line for line in output("bench.cpu", "1").splitlines() if "x torch" in line]
    titles = ("GPT step", "ResNet-18 step", "EfficientNet-b0 forward", "a + b", "relu", "sum", "zeros", "softmax")
    assert [title for title in titles if any(line.startswith(title) for line in figures)] == list(titles)


def test_loading():
    figures = output("bench.loading", "1").splitlines()[-3:]
    assert [line.split()[:2] for line in figures] == [["4", "KB"], ["256", "KB"], ["16", "MB"]]
    assert all(line.endswith("x torch") for line in figures)


def test_allocator():
    shown = output("bench.allocator", "--rounds", "1", "--in-use", "10", "20", "--clients", "none")
    pairs, growth = shown.split("\n\n")[1:]
    figures = [re.findall(r"(\d+) ns", line)[:2] for line in pairs.splitlines()[1:-1]]
    assert len(figures) == 4
    assert all(int(floor) >= 0 and int(ours) > 0 for floor, ours in figures)
    assert "make test-clients" in pairs.splitlines()[-1]
    assert len(growth.splitlines()) == 1 + 3 * 2 * 2      # arrangements, workloads, allocators


def test_replay():
    """Of what a GPT reserves, one of some MiB or of some GiB, hardly anything is unused."""
    shown = output("bench.replay", "--clients", "none", "--settings", "")
    small, large = (float(ratio) for ratio in re.findall(r"MiB +(\d\.\d+)", shown))
    assert 1 < small <= 1.15
    assert 1 < large < 1.15


def test_memory(tmp_path):
    path = tmp_path / "memory.png"
    shown = output("bench.memory", "--output", path, "--steps", "2", "--layers", "1", "--width", "16")
    allocated, reserved = map(int, re.findall(r"(\d+) MiB", shown))
    assert 0 < allocated <= reserved
    assert path.read_bytes().startswith(b"\x89PNG")
