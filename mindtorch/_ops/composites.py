"""The functions and methods of all composite*.py."""
from importlib import import_module
from pathlib import Path

FUNCTIONS, METHODS = {}, {}
for _path in sorted(Path(__file__).parent.glob("composite*.py")):
    if _path.stem != "composites":
        _module = import_module(f"mindtorch._ops.{_path.stem}")
        FUNCTIONS.update(_module.FUNCTIONS)
        METHODS.update(_module.METHODS)
