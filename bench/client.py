"""The published torch_npu wheel on the simulator, in the environment that `make test-clients` makes.

It prints results as lines of JSON after a mark, since torch_npu prints lines of its own.
"""
import json
import os

from bench.rungs import ROOT

PYTHON = ROOT / ".venv-clients" / "bin" / "python"
LEFT_OUT = "torch_npu is left out: `make test-clients` installs it"
TOOLKIT = ROOT / "mindtorch" / "_sim" / "toolkit"
MARK = "answer: "


def command(python, script, *arguments):
    """The command that runs bench/{script} in that environment."""
    return [python, "tests/clients/run.py", "--toolkit", TOOLKIT, f"bench/{script}", *arguments]


def environment(base=os.environ, **more):
    return {**base, "MINDTORCH_NPU": "sim", "PYTHONPATH": str(ROOT), **more}


def say(value):
    print(MARK + json.dumps(value), flush=True)


def receive(lines):
    """The next value that was printed."""
    for line in lines:
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    raise RuntimeError("the process has ended without an answer")
