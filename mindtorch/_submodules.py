"""What `import torch.x` and `torch.x` find where no file or statement of mindtorch has it.

A finder at the end of sys.meta_path makes the modules that stand elsewhere in mindtorch, and those that it lacks and
that _refusals/names.py names. A module that exists shows its submodules, and the names that refuse, by
`module_getattr`.
"""
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder

from mindtorch._refusals.modules import is_refused_module, refused_modules, refused_object

__all__ = ["install_finder", "module_getattr"]

_MOVED = {}         # module of mindtorch -> the module that stands for it


def _torch_name(module):
    return "torch" + module[len("mindtorch"):]


def module_getattr(module):
    """The `__getattr__` of a module of mindtorch, by its own name: its submodules, and the names that the table has.

    In torch most submodules are attributes of their package as soon as it is imported; here those that are asked for.
    """
    torch_module = _torch_name(module)

    def find(name):
        if name.startswith("__"):
            found = None
        elif f"{torch_module}.{name}" in refused_modules() or _has_submodule(module, name):
            return import_module(f"{module}.{name}")
        else:
            found = refused_object(torch_module, name)
        if found is None:
            raise AttributeError(f"module '{torch_module}' has no attribute '{name}': mindtorch does not have it")
        return found
    return find


def _has_submodule(module, name):
    """Whether a file of mindtorch, or a module that stands elsewhere, is the submodule."""
    places = getattr(sys.modules.get(module), "__path__", None)
    submodule = f"{module}.{name}"
    return places is not None and (submodule in _MOVED or PathFinder.find_spec(submodule, places) is not None)


class _Finder:
    """At the end of sys.meta_path: it is asked for what no file has."""

    def find_spec(self, name, path=None, target=None):
        if name in _MOVED or (name.startswith("mindtorch.") and is_refused_module(_torch_name(name))):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return import_module(_MOVED[spec.name]) if spec.name in _MOVED else None

    def exec_module(self, module):
        name = module.__spec__.name
        if name not in _MOVED:
            module.__doc__ = f"{_torch_name(name)}: its names refuse when they are used."
        module.__dict__.setdefault("__getattr__", module_getattr(name))


def install_finder(moved):
    """Adds the finder, once. `moved` names modules that stand elsewhere in mindtorch."""
    _MOVED.update({f"mindtorch.{name}": f"mindtorch.{place}" for name, place in moved.items()})
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
