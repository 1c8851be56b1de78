"""The op database of tests/ops serves these tests too."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
