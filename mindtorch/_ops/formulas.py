"""Everything that a derivative column may call: `ops`, and the functions of all derivatives*.py."""
from importlib import import_module
from pathlib import Path

for _path in sorted(Path(__file__).parent.glob("derivatives*.py")):
    globals().update(vars(import_module(f"mindtorch._ops.{_path.stem}")))
