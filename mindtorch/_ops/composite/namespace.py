"""The functions and methods of the modules beside this one, by name.

nn_functional is not among them: it needs mindtorch.nn, which needs these.
"""
from importlib import import_module
from pathlib import Path

FUNCTIONS, METHODS = {}, {}
for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem not in ("__init__", "namespace", "nn_functional"):
        _module = import_module(f"mindtorch._ops.composite.{_path.stem}")
        FUNCTIONS.update(_module.FUNCTIONS)
        METHODS.update(getattr(_module, "METHODS", {}))
