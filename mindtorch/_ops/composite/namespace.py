"""The functions and methods of all modules beside this one, by name."""
from importlib import import_module
from pathlib import Path

FUNCTIONS, METHODS = {}, {}
for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem not in ("__init__", "namespace"):
        _module = import_module(f"mindtorch._ops.composite.{_path.stem}")
        FUNCTIONS.update(_module.FUNCTIONS)
        METHODS.update(getattr(_module, "METHODS", {}))
