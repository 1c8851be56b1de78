"""The Python blocks of the guides run, each page in a process of its own, and what pages name exists."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run_program(text, tmp_path):
    program = tmp_path / "page.py"
    program.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MINDTORCH_NPU": "sim"}
    ran = subprocess.run([sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True,
                         timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page, tmp_path):
    run_program("\n".join(blocks(page, "python")), tmp_path)


def test_notebook_runs(tmp_path):
    notebook = json.loads((ROOT / "examples" / "first_steps.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    run_program("\n".join(cells), tmp_path)


def make_targets():
    return re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_targets_of_make_exist():
    """Those that pages, workflows and .ci/run name."""
    files = [ROOT / ".ci" / "run", *ROOT.glob("*.md"), *ROOT.joinpath("docs").rglob("*.md"),
             *ROOT.joinpath(".github").rglob("*.yml")]
    command = re.compile(r"(?:`|^\s*(?:- run: )?)make ([a-z-]+)", re.MULTILINE)
    named = {target for file in files if file.name != "CHANGELOG.md"
             for target in command.findall(file.read_text(encoding="utf-8"))}
    assert {"coverage", "test", "sanitizers"} <= named
    assert named <= set(make_targets())


def test_shell_blocks_name_what_exists():
    known = re.compile(
        rf"pip install '?mindtorch(\[mpi\]')?|make ({'|'.join(make_targets())})"
        r"|torchrun .* (examples/train_gpt\.py|-m mindtorch\.distributed\.doctor)"
        r"|python -m mindtorch(( |\.distributed\.)doctor|\.sim| --cuda-is-npu script\.py|\.utils\.collect_env)?")
    lines = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines()]
    assert lines
    assert [line for line in lines if not known.fullmatch(line)] == []


def test_every_page_is_in_the_table_of_contents():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    listed = set(re.findall(r"^[a-z_]+(?:/[a-z_]+)?$", index, re.MULTILINE))
    assert {page for page in pages if page != "index" and not page.startswith(("reference/", "_build/"))} == {
        page for page in listed if not page.startswith("reference/")}
