"""Puts this folder's helpers on the path; workers are forked, as they were before Python 3.14."""
import multiprocessing
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Classes of a test's own cannot be sent to the workers that Python 3.14 starts from a server.
multiprocessing.set_start_method("fork", force=True)
