"""Formulas that are launched again: again.py, in a process of its own."""
import subprocess
import sys
from pathlib import Path


def test_rows_again():
    script = Path(__file__).with_name("again.py")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", script],
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
