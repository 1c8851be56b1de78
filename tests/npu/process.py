"""Code run in a process of its own, on the simulator."""
import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mindtorch._npu import toolkit

# Registered before mindtorch's own clean-up, hence run after it.
COUNT_AT_EXIT = """
import atexit
from mindtorch import sim
atexit.register(lambda: print("left:", sim.live_objects()))
import mindtorch as torch
"""


# Settings with which executors are kept: by CANN, and by mindtorch, whose toolkit has no hooks for CANN's cache.
BY_CANN = {"MINDTORCH_SIM_OP_CACHE": "1"}
BY_MINDTORCH = {"without_hooks": True}


@functools.cache
def toolkit_without_hooks():
    """The root of a simulated toolkit like one that is too old for the hooks of CANN's cache of executors.

    But for one library it is the simulator's own, so that mindtorch.sim acts on it.
    """
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    root = Path(shutil.copytree(toolkit.SIMULATOR, f"{folder}/cann", copy_function=os.symlink))
    library = root / "lib64" / "libnnopbase.so"
    content = library.read_bytes().replace(b"\0CanUsePTACache\0", b"\0CanUsePTACach~\0")
    library.unlink()
    library.write_bytes(content)
    return str(root)


def environment(without_hooks=False, **settings):
    used = {"MINDTORCH_NPU": "cann", "MINDTORCH_CANN_HOME": toolkit_without_hooks()} if without_hooks else {
        "MINDTORCH_NPU": "sim"}
    return {**os.environ, **used, **settings}


def run(code, **settings):
    done = subprocess.run([sys.executable, "-c", code], env=environment(**settings), capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done
