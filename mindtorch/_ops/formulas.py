"""Everything that a derivative or a formula may call: `ops`, the functions of derivatives*.py and compositions*.py."""
from importlib import import_module
from pathlib import Path

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem.startswith(("derivatives", "compositions")):
        globals().update(vars(import_module(f"mindtorch._ops.{_path.stem}")))
