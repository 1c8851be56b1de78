"""mypy and pyright find the planted mistakes in user scripts, and nothing else; the stubs fit the run time."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"


def planted():
    """(script, line) of every mistake."""
    return {(path.name, number) for path in SCRIPTS.glob("*.py")
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if "# mistake" in line}


def output_of(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_mypy_finds_the_mistakes_and_no_others(tmp_path):
    text = output_of(sys.executable, "-m", "mypy", "--strict", "--output", "json", "--cache-dir", tmp_path,
                     *sorted(SCRIPTS.glob("*.py")))
    errors = [error for error in map(json.loads, text.splitlines()) if error["severity"] == "error"]
    found = {(Path(error["file"]).name, error["line"]) for error in errors}
    assert found == planted(), [error for error in errors if (Path(error["file"]).name, error["line"]) not in planted()]


def pyright():
    """The command; None where it is not installed: `make pyright` fetches it."""
    script = ROOT / "build" / "pyright" / "package" / "index.js"
    node = shutil.which("node")
    return [node, script] if node and script.exists() else None


@pytest.mark.skipif(not pyright(), reason="pyright is not installed: make pyright")
def test_pyright_finds_the_mistakes_and_no_others():
    report = json.loads(output_of(*pyright(), "--outputjson", "--pythonpath", sys.executable, SCRIPTS))
    errors = [error for error in report["generalDiagnostics"] if error["severity"] == "error"]
    found = {(Path(error["file"]).name, error["range"]["start"]["line"] + 1) for error in errors}
    assert found == planted(), [error for error in errors
                                if (Path(error["file"]).name, error["range"]["start"]["line"] + 1) not in planted()]


# What a stub or an annotated source declares and the run time lacks, with the reason. The list may only become shorter.
NOT_AT_RUN_TIME = {
    "mindtorch.autograd.graph.CopyBeforeWrite": "a class that a function makes at each call",
    "mindtorch.distributed._mpi.error": "the name of an exception, which Python deletes",
    "mindtorch.hub.tqdm-redefinition": "the function that stands in for a package that is not installed",
}
# Signatures that differ from those of the objects at run time: of the functions of operators, which are no Python
# functions and take what several overloads take; of composites, whose parameters have other names than the schema's.
DIFFERENT_SIGNATURES = 1361


def test_stubs_declare_what_is_there(tmp_path):
    """stubtest compares every declaration with the object at run time."""
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nignore_missing_imports = True\n[mypy-mindtorch.*]\nignore_errors = True\n",
                        encoding="utf-8")
    lines = output_of(sys.executable, "-m", "mypy.stubtest", "mindtorch", "--concise", "--ignore-missing-stub",
                      "--mypy-config-file", settings).splitlines()
    declared = {line.partition(" ")[0].partition("@")[0] for line in lines if "not present at runtime" in line}
    assert declared == NOT_AT_RUN_TIME.keys()
    assert not [line for line in lines if "failed to" in line]
    assert len(lines) <= DIFFERENT_SIGNATURES
