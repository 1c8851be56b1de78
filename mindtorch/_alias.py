"""`import torch` that means mindtorch, in this process and the processes that multiprocessing starts from it.

A finder, first on sys.meta_path, answers for `torch` and `torch.*` with mindtorch's own module objects: torch.nn is
mindtorch.nn, torch_npu.npu is mindtorch.npu, and mindtorch answers to the name of torch. Nothing is loaded twice,
classes keep their names and pickles can be read without the alias.
"""
import importlib.metadata
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from multiprocessing.process import AuthenticationString
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import mindtorch
from mindtorch._compat import MODULES

__all__ = ["alias_torch"]


# Names of modules, and what they and all below them are called here: the first that fits.
_NAMES = {f"torch.{name}": f"mindtorch.{own}" for name, own in MODULES.items()}
_NAMES |= {"torch_npu.npu": "mindtorch.npu", "torch_npu": "mindtorch._torch_npu", "torch": "mindtorch"}


def _own_name(name):
    """The name in mindtorch of what is `name` in torch or torch_npu."""
    theirs = next(known for known in _NAMES if name == known or name.startswith(known + "."))
    return _NAMES[theirs] + name[len(theirs):]


def _is_ours(name):
    """Whether mindtorch has the module that torch calls `name`."""
    try:
        return find_spec(_own_name(name)) is not None
    except ModuleNotFoundError:         # a package on the way to it is missing
        return False


def _share_loaded(name):
    """Enters what is loaded below `name` under torch's names.

    The import system would otherwise bind each submodule in its package again, as it does after a load, in place of a
    function of the same name: torch.autograd.gradcheck is both.
    """
    prefix = _own_name(name) + "."
    for own, module in list(sys.modules.items()):
        if own.startswith(prefix):
            sys.modules.setdefault(name + own[len(prefix) - 1:], module)


class _Loader:
    """Hands out the module of mindtorch, as it is."""

    def create_module(self, spec):
        module = import_module(_own_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """The module has been executed under its own name; the import system has given it the alias's spec."""
        name, module.__spec__ = module.__spec__.name, module.__spec__.loader_state
        _share_loaded(name)

    def get_code(self, name):
        """The code that `python -m` runs."""
        return find_spec(_own_name(name)).loader.get_code(_own_name(name))


class _Distribution(importlib.metadata.Distribution):
    """What importlib.metadata tells about torch, or torch_npu: its name and version."""

    def __init__(self, name):
        self._name = name

    def read_text(self, filename):
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {mindtorch.__version__}\n"
        return f"{self._name}\n" if filename == "top_level.txt" else None

    def locate_file(self, path):
        return Path(mindtorch.__file__).parent.parent / path


class _Finder:
    """On sys.meta_path."""

    loader = _Loader()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in _NAMES:
            return None
        if _is_ours(name):
            own = find_spec(_own_name(name))
            spec = ModuleSpec(name, self.loader, origin=own.origin)
            spec.submodule_search_locations = own.submodule_search_locations
            return spec
        # importlib.util.find_spec asks whether there is such a module: None says no. An import deserves the reason.
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            return None
        raise ModuleNotFoundError(f"No module named '{name}': mindtorch does not have it", name=name)

    def find_distributions(self, context):
        """The distributions that importlib.metadata.version("torch"), or ("torch_npu"), reads."""
        wanted = None if context.name is None else context.name.lower().replace("-", "_")
        return [_Distribution(name) for name in ("torch", "torch_npu") if wanted in (None, name)]


def alias_torch():
    """Let `import torch`, and that of its submodules, mean mindtorch in this process and its multiprocessing children.

    To be called before anything imports torch: RuntimeError afterwards. A second call changes nothing.
    """
    known = sys.modules.get("torch")
    if known is mindtorch:
        return
    if known is not None:
        raise RuntimeError(f"alias_torch() comes too late: torch has been imported already, from "
                           f"{getattr(known, '__file__', 'an unknown file')}. Call it before anything imports torch.")
    sys.modules["torch"] = mindtorch
    mindtorch.__name__ = "torch"
    _share_loaded("torch")
    sys.meta_path.insert(0, _Finder())
    ForkingPickler.register(AuthenticationString, _reduce_key)


def is_active():
    """Whether `torch` means mindtorch in this process."""
    return sys.modules.get("torch") is mindtorch


# A child process that is not forked unpickles the parent's key before it imports the main module again: that is where
# it learns of the alias.

def _reduce_key(key):
    key.__reduce__()                    # raises where no process is being started
    return _key_of_parent, (bytes(key),)


def _key_of_parent(key):
    alias_torch()
    return AuthenticationString(key)
