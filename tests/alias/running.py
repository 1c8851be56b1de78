"""Programs in processes of their own, under Python or under `python -m mindtorch`."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(*arguments, cwd=None, text="", **environment):
    """The finished process of `python *arguments`, which finds mindtorch wherever it runs."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, input=text, capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=path) | {"MINDTORCH_NPU": "sim"} | environment, timeout=120,
                          check=False)


def passes(*arguments, **options):
    """What `python -m mindtorch *arguments` writes; it must end well."""
    done = python("-m", "mindtorch", *arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
