"""The code blocks of the pages run, Python's of each page in a process of its own, and what pages name exists.

Commands of the shell run, too; what stands in for a network and other machines is in STANDINS.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.one_mode

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md"))]
SITE = [*PAGES, *sorted(page for page in DOCS.glob("*.md") if page.name != "index.md")]
# Code of other languages than Python and shell. tests/library/test_cpp_extension.py compiles and runs extensions.md;
# that of kernels.md and design.md is compiled with the package, where it must stand word for word.
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


# What stands in for a machine and a network that a test does not have, by the program's name.
STANDINS = {
    # No index to install from: the packages must be there already, the extras declared.
    "pip": f"""
        import sys, tomllib
        from importlib.metadata import version
        from packaging.requirements import Requirement
        project = tomllib.load(open({str(ROOT / "pyproject.toml")!r}, "rb"))["project"]
        command, *requirements = sys.argv[1:]
        assert command == "install" and requirements
        for requirement in map(Requirement, requirements):
            if requirement.name == project["name"]:
                assert requirement.extras <= set(project["optional-dependencies"]), requirement
            else:
                version(requirement.name)""",
    # A target would install and compile everything anew; .ci/run runs them. This only asks make how it would.
    "make": f"""
        import subprocess, sys
        subprocess.run(["/usr/bin/env", "-u", "MAKEFLAGS", {shutil.which("make")!r}, "--dry-run", "--directory",
                        {str(ROOT)!r}, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)""",
    # The programs that a wheel, or pytest, installs in an environment.
    "torchrun": """
        from mindtorch.distributed.run import main
        main()""",
    "pytest": """
        import sys, pytest
        sys.exit(pytest.main())"""}
# The files of the user that commands name. The example is the one of the repository, with fewer steps.
USERS_FILES = {
    "script.py": """
        import torch
        print(torch.ones(1, device="cuda").device)""",
    "test_of_the_user.py": """
        import mindtorch as torch
        def test_devices():
            assert torch.npu.device_count() == 2
            assert torch.ones(1, device="npu:1").item() == 1""",
    "examples/train_gpt.py": f"""
        import runpy, sys
        sys.argv += "--layers 1 --width 16 --context 8 --batch-size 4 --sample 5 --steps 3".split()
        runpy.run_path({str(ROOT / "examples" / "train_gpt.py")!r}, run_name="__main__")"""}


def shell_lines(page):
    return [line.partition(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]


@pytest.fixture
def shell(tmp_path):
    """Runs command lines as a user in a folder of its own does, all at once; gives what they print."""
    for name, text in USERS_FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    scripts = {name: f"#!{sys.executable}\n{textwrap.dedent(text)}\n" for name, text in STANDINS.items()}
    for name, text in {"python": f'#!/bin/sh\nexec {sys.executable} "$@"\n', **scripts}.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)

    def run(*lines, **variables):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}",
                       "MINDTORCH_NPU": "sim", "MINDTORCH_SIM_DEVICES": "2", **variables}
        started = [subprocess.Popen(["bash", "-euc", line], cwd=tmp_path, env=environment, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for line in lines]
        printed = [process.communicate(timeout=280)[0] for process in started]
        assert [process.returncode for process in started] == [0] * len(lines), "".join(printed)
        return "".join(printed)

    return run


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@pytest.mark.parametrize("page", [page for page in [ROOT / "README.md", *SITE] if blocks(page, "sh")],
                         ids=lambda page: page.stem)
def test_shell_blocks_run(page, shell):
    printed = ""
    for line in shell_lines(page):
        if "--nnodes 2" in line:        # this machine stands for both, with a process each
            node = line.replace("host:29500", f"127.0.0.1:{free_port()}").replace("--nproc-per-node 8", "")
            printed += shell(node, node)
        else:
            printed += shell(line)
    for command, says in {"--cuda-is-npu": "npu:0", "python -m mindtorch.sim": "toolkit", "train_gpt": "def "}.items():
        assert command not in "".join(shell_lines(page)) or says in printed


def test_steps_of_the_workflow_run(shell):
    (workflow,) = blocks(DOCS / "guide" / "simulator.md", "yaml")
    steps = yaml.safe_load(workflow)
    printed = "".join(shell(step["run"], **{name: str(value) for name, value in step.get("env", {}).items()})
                      for step in steps)
    assert "1 passed" in printed
    assert steps[1]["env"]["MINDTORCH_SIM_DEVICES"] == 2        # the user's test asks for as many


def test_workflows_and_forms_are_yaml():
    """A workflow has steps of shell commands that bash can read; a form has fields."""
    for path in [*ROOT.joinpath(".github").rglob("*.yml")]:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        commands = [step["run"] for job in loaded.get("jobs", {}).values() for step in job["steps"] if "run" in step]
        for command in commands:
            subprocess.run(["bash", "-n"], input=re.sub(r"\$\{\{.*?\}\}", "x", command), text=True, check=True)
        assert commands or loaded.keys() & {"body", "blank_issues_enabled"}, path


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
