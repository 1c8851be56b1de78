"""mypy and pyright find the planted mistakes in user scripts, and nothing else; the stubs fit the run time."""
import functools
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch
from mindtorch._core.python.torch_function import OverridableFunction
from mindtorch.npu._unavailable import _Unavailable

pytestmark = pytest.mark.one_mode

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


# Public names that stubs declare otherwise than they are at run time, with the reason: a name, or all within it.
EXCEPTIONS = {
    "autograd.graph.CopyBeforeWrite": "a class that a function makes at each call",
    "autograd.profiler_util.FormattedTimesMixin": "properties that a function makes",
    "cuda.graph": "stubtest imports torch_npu.contrib.transfer_to_npu, which puts the NPU's in its place",
    "distributed.checkpoint.planner": "the members of an enumeration, which are not their numbers",
    "distributions.distribution.Distribution.__init__": "() stands for an empty Size",
    "dtype.__init__": "of C: nobody calls it",
    "fx.proxy.ParameterProxy": "properties that a class takes over from its base",
    "hub.tqdm-redefinition": "the function that stands in for a package that is not installed",
    "nn.attention.bias.CausalVariant": "the members of an enumeration",
    "nn.utils.rnn.PackedSequence": "a named tuple has slots, which a stub cannot say",
    "Size.__new__": "of C: the parameter has no name there",
    "Tensor.__pow__": "of C: takes the modulus that Python's pow may have",
    "Tensor.__rpow__": "likewise",
}


def runtime_object(name):
    """What stands at `mindtorch.<name>`, methods unbound; None where nothing does."""
    found = mindtorch
    *parents, last = name.split(".")
    for parent in parents:
        found = getattr(found, parent, None)
    return inspect.getattr_static(found, last, None) or getattr(found, last, None)


NOT_COMPARED = (OverridableFunction, functools._lru_cache_wrapper,
                mindtorch.distributions.constraints.dependent_property, _Unavailable)


def is_checked(name):
    """Whether stubtest can compare the signature. It cannot for functions of operators, whose stubs have one for each
    overload, for cached functions, of which mypy knows the cache, and for what is no function: a name that is refused
    with its reason, a constraint that depends on parameters.
    """
    found = runtime_object(name)
    return not isinstance(found, NOT_COMPARED)


def test_stubs_declare_what_is_there(tmp_path):
    """stubtest compares every declaration of a public name with the object at run time."""
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nignore_missing_imports = True\n[mypy-mindtorch.*]\nignore_errors = True\n",
                        encoding="utf-8")
    lines = output_of(sys.executable, "-m", "mypy.stubtest", "mindtorch", "--concise", "--ignore-missing-stub",
                      "--mypy-config-file", settings).splitlines()
    assert not [line for line in lines if "failed to" in line]
    names = {line.partition(" ")[0].partition("@")[0].removeprefix("mindtorch.") for line in lines}
    public = {name for name in names if not re.search(r"(^|\.)_(?!\w+__$)", name) and is_checked(name)}
    unused = set(EXCEPTIONS)
    for name in sorted(public):
        within = {exception for exception in EXCEPTIONS if f"{name}.".startswith(f"{exception}.")}
        assert within, [line for line in lines if line.startswith(f"mindtorch.{name} ")]
        unused -= within
    assert not unused
