"""The code blocks of the pages run, Python's of each page in a process of its own, and what pages name exists."""
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md"))]
SITE = [*PAGES, *sorted(page for page in DOCS.glob("*.md") if page.name != "index.md")]
# Code of other languages than Python and shell; that of extensions.md is tested in tests/library/test_cpp_extension.py.
OTHER_CODE = {("extensions", "c"), ("extensions", "python"), ("kernels", "cpp"), ("design", "toml"),
              ("simulator", "yaml")}


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


def test_every_code_block_is_of_a_kind_that_is_tested():
    found = {(page.stem, language) for page in SITE
             for language in re.findall(r"^ *```([a-z]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found - {(page.stem, language) for page in PAGES for language in ("python", "sh")} == OTHER_CODE


def test_kernels_of_their_guide_are_in_the_sources():
    sources = "".join(path.read_text(encoding="utf-8")
                      for path in (ROOT / "mindtorch" / "_sim" / "opapi" / "kernels").glob("*.cpp"))
    parts = [part for block in blocks(DOCS / "kernels.md", "cpp") for part in block.strip().split("\n\n")]
    assert len(parts) == 3
    assert [part for part in parts if part not in sources] == []


def test_row_of_the_design_is_in_the_op_table():
    (block,) = blocks(DOCS / "design.md", "toml")
    table = (ROOT / "mindtorch" / "_ops" / "rows" / "pointwise.toml").read_text(encoding="utf-8")
    (row,) = tomllib.loads(block)["op"]
    assert row in tomllib.loads(table)["op"]


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
        rf"pip install '?mindtorch(\[mpi\]'| pytest)?|pytest|make ({'|'.join(make_targets())})"
        r"|torchrun .* (examples/train_gpt\.py|-m mindtorch\.distributed\.doctor)"
        r"|python -m mindtorch(( |\.distributed\.)doctor|\.sim| --cuda-is-npu script\.py|\.utils\.collect_env)?")
    lines = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines()]
    workflow = "".join(blocks(DOCS / "guide" / "simulator.md", "yaml"))
    lines += re.findall(r"run: (.+)", workflow)
    assert len(lines) >= 10
    assert [line for line in lines if not known.fullmatch(line)] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in re.findall(r"MINDTORCH_\w+", workflow) if f"`{name}" not in readme] == []


LINKING = [*SITE, *ROOT.glob("*.md"), *ROOT.glob("tests/*/README.md")]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    text = page.read_text(encoding="utf-8")
    broken = []
    for name, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        target = page.parent / name if name else page
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        if not target.exists() or (anchor and anchor not in map(heading_anchor, headings)):
            broken.append(f"{name}#{anchor}")
    assert broken == []


def test_files_that_pages_name_exist():
    path = re.compile(
        r"\b(?:bench|docs|examples|include|mindtorch|tests)/[\w./-]+\.(?:c|cpp|h|ipynb|jsonl|md|pyx?|toml|txt)\b")
    named = {name for page in LINKING if page.name != "CHANGELOG.md"
             for name in path.findall(page.read_text(encoding="utf-8"))}
    assert "examples/train_gpt.py" in named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def heading_anchor(heading):
    """As GitHub and MyST make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_page_is_in_the_table_of_contents():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    listed = set(re.findall(r"^[a-z_]+(?:/[a-z_]+)?$", index, re.MULTILINE))
    assert {page for page in pages if page != "index" and not page.startswith(("reference/", "_build/"))} == {
        page for page in listed if not page.startswith("reference/")}
