"""Makes `import torch` import mindtorch, in this process and in the processes that multiprocessing starts from it.

A finder at the front of sys.meta_path maps `torch` and `torch.*` to the module objects of mindtorch: torch.nn is
mindtorch.nn, torch_npu.npu is mindtorch.npu. No module is loaded twice, and classes keep their names, so that pickles
can be read without the alias. Only Tensor and Parameter tell torch's module, as packages choose their functions by it;
a pickle of one of these classes itself, in place of an instance, is read under the alias only.
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
from mindtorch._core.tensor.tensor import is_cuda_read_as_npu

__all__ = ["alias_torch"]


# Module in torch -> module here, for the module and all below it. The first match counts.
_NAMES = {f"torch.{name}": f"mindtorch.{own}" for name, own in MODULES.items()}
_NAMES |= {"torch_npu.npu": "mindtorch.npu", "torch_npu": "mindtorch._torch_npu", "torch": "mindtorch",
           "functorch": "mindtorch._functorch"}


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
    """Adds the loaded modules below `name` to sys.modules under torch's names.

    Otherwise the import system would load them through the alias and bind each in its package, over a function of the
    same name: torch.autograd.gradcheck is both.
    """
    prefix = _own_name(name) + "."
    for own, module in list(sys.modules.items()):
        if own.startswith(prefix):
            sys.modules.setdefault(name + own[len(prefix) - 1:], module)


class _Loader:
    """Returns the module of mindtorch unchanged."""

    def create_module(self, spec):
        module = import_module(_own_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """Restores the module's own spec, which the import system replaced by the alias's. The module ran already."""
        name, module.__spec__ = module.__spec__.name, module.__spec__.loader_state
        _share_loaded(name)

    def get_code(self, name):
        """The code that `python -m` runs."""
        return find_spec(_own_name(name)).loader.get_code(_own_name(name))


class _Distribution(importlib.metadata.Distribution):
    """The name and version of torch, or torch_npu, for importlib.metadata."""

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
        # importlib.util.find_spec expects None for a missing module. An import statement gets an error with the reason.
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            return None
        raise ModuleNotFoundError(f"No module named '{name}': mindtorch does not have it", name=name)

    def find_distributions(self, context):
        """The distributions that importlib.metadata.version("torch"), or ("torch_npu"), reads.

        torch_npu's is there where there is an NPU. Where it is, packages such as diffusers call torch_npu's operators
        for every tensor, which these refuse on the CPU.
        """
        wanted = None if context.name is None else context.name.lower().replace("-", "_")
        names = [name for name in ("torch", "torch_npu") if wanted in (None, name)]
        return [_Distribution(name) for name in names if name == "torch" or mindtorch.npu.is_available()]


def alias_torch():
    """Let `import torch`, and that of its submodules, mean mindtorch in this process and its multiprocessing children.

    To be called before anything imports torch: RuntimeError afterwards. A second call changes nothing.

    Example:
        >>> import subprocess, sys
        >>> program = "import mindtorch; mindtorch.alias_torch(); import torch; print(torch.__name__)"
        >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
        torch
    """
    known = sys.modules.get("torch")
    if known is mindtorch:
        return
    if known is not None:
        raise RuntimeError(f"alias_torch() comes too late: torch has been imported already, from "
                           f"{getattr(known, '__file__', 'an unknown file')}. Call it before anything imports torch.")
    sys.modules["torch"] = mindtorch
    mindtorch.__name__ = "torch"
    mindtorch.Tensor.__module__, mindtorch.nn.Parameter.__module__ = "torch", "torch.nn.parameter"
    _share_loaded("torch")
    sys.meta_path.insert(0, _Finder())
    ForkingPickler.register(AuthenticationString, _reduce_key)


def is_active():
    """Whether `torch` means mindtorch in this process."""
    return sys.modules.get("torch") is mindtorch


# A spawned child unpickles the parent's authentication key before it imports the main module. Unpickling the key
# activates the alias there.

def _reduce_key(key):
    key.__reduce__()                    # raises where no process is being started
    return _key_of_parent, (bytes(key), is_cuda_read_as_npu())


def _key_of_parent(key, cuda_is_npu):
    alias_torch()
    if cuda_is_npu:
        import_module("mindtorch.cuda._transfer").transfer_to_npu()
    return AuthenticationString(key)
