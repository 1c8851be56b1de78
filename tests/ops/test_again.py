"""Formulas that are launched again: again.py, in a process of its own."""
import subprocess
import sys
from pathlib import Path

import pytest

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_rows_again(part):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
                           Path(__file__).with_name("again.py"), f"--part={part}/{PARTS}"],
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout
