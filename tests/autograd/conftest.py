"""The samples of the op rows are those of tests/ops."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
