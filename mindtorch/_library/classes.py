"""torch.classes: C++ classes that libraries register. A library that needs torch's own C++ cannot be loaded here."""
from types import ModuleType

from mindtorch._library.overloads import ops

__all__ = ["classes"]


class _ClassNamespace(ModuleType):
    """The classes of one namespace."""

    def __init__(self, name):
        super().__init__(f"torch.classes.{name}")
        self.name = name

    def __getattr__(self, name):
        raise RuntimeError(f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is "
                           "registered via torch::class_")


class _Classes(ModuleType):
    """torch.classes: creates namespaces on demand."""

    __file__ = "_classes.py"

    def __init__(self):
        super().__init__("torch.classes")

    def __getattr__(self, name):
        if name in ("__path__", "__wrapped__"):
            raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
        namespace = _ClassNamespace(name)
        setattr(self, name, namespace)
        return namespace

    @property
    def loaded_libraries(self):
        """The libraries that were loaded."""
        return ops.loaded_libraries

    def load_library(self, path):
        """torch.ops.load_library."""
        ops.load_library(path)


classes = _Classes()
