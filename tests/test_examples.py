"""The examples run as a user runs them, and reach the figures they promise."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch import sim

pytestmark = pytest.mark.one_mode

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


@pytest.mark.quick
def test_digits(device):
    run = subprocess.run([sys.executable, EXAMPLES / "digits.py", "--device", device], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"correct: +351 of 360", run.stdout)
    assert float(re.search(r"logit difference: +(\S+)", run.stdout)[1]) < 1e-4
    assert re.search(r"time: +[\d.]+ ms", run.stdout)
    if device == "npu":
        assert re.search(r"toolkit: +\S+", run.stdout)
        assert int(re.search(r"peak device memory: +(\d+) KiB", run.stdout)[1]) > 0


def test_digits_fails_when_the_figures_do_not_hold(tmp_path):
    """A wrong weight must not go unnoticed."""
    import numpy as np
    (tmp_path / "data").mkdir()
    (tmp_path / "digits.py").write_text((EXAMPLES / "digits.py").read_text(encoding="utf-8"), encoding="utf-8")
    with np.load(EXAMPLES / "data" / "digits_mlp.npz") as data:
        arrays = dict(data)
    arrays["layer2.bias"] = arrays["layer2.bias"] + np.arange(10, dtype=np.float32)
    np.savez(tmp_path / "data" / "digits_mlp.npz", **arrays)
    run = subprocess.run([sys.executable, tmp_path / "digits.py", "--device", "cpu"], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 1
    assert "expected 351" in run.stderr


def command(*words, **environment):
    """What a command prints. CMake and pkg-config may come from PyPI, beside this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


ACL_PROGRAMS = {"add": "11 22 33 44\n", "streams": "the sum of 4096 products is 262144\n"}


def test_acl_programs_compiled_by_pkg_config(tmp_path):
    options = command("pkg-config", "--cflags", "--libs", "cann",
                      PKG_CONFIG_PATH=str(sim.toolkit() / "lib64" / "pkgconfig")).split()
    for compiler, source, standard in (("cc", "add.c", "c11"), ("c++", "streams.cpp", "c++17")):
        program = tmp_path / Path(source).stem
        command(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", EXAMPLES / "acl" / source, "-o", program,
                *options)
        assert command(program) == ACL_PROGRAMS[program.name]


def test_acl_programs_compiled_by_cmake(tmp_path):
    command("cmake", "-S", EXAMPLES / "acl", "-B", tmp_path, f"-DCANN_DIR={sim.toolkit() / 'lib64' / 'cmake' / 'CANN'}")
    command("cmake", "--build", tmp_path)
    for name, printed in ACL_PROGRAMS.items():
        assert command(tmp_path / name) == printed


@pytest.mark.quick
def test_readme():
    """The program of the README prints what the comments in it say."""
    program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    promised = [line.removeprefix("# ") for line in program.splitlines() if line.startswith("# ")]
    assert run.stdout.splitlines()[:-1] == promised
