"""Code run in a process of its own, on the simulator."""
import os
import subprocess
import sys

# Registered before mindtorch's own clean-up, hence run after it.
COUNT_AT_EXIT = """
import atexit
from mindtorch import sim
atexit.register(lambda: print("left:", sim.live_objects()))
import mindtorch as torch
"""


def run(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "MINDTORCH_NPU": "sim", **environment},
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done
