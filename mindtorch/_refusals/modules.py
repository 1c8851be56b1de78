"""Modules and names of torch that packages import and that refuse on use: the table is names.py.

A module that mindtorch lacks and the table names is made by a finder at the end of sys.meta_path. A module that exists
takes the names that it lacks, and its submodules, from `module_getattr`.
"""
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

__all__ = ["install", "module_getattr"]


@cache
def _table():
    """Module -> {name: reason}, with the names of torch."""
    from mindtorch._refusals.names import NAMES
    table = {}
    for reason, text in NAMES.items():
        module = ""
        for line in text.strip().splitlines():
            before, colon, names = line.strip().rpartition(":")
            module = before if colon else module       # a line without a module goes on with that of the line above
            table.setdefault(module, {}).update(dict.fromkeys(names.split(), reason))
            package = module
            while package != "torch":                  # a package on the way to a module is a module as well
                table.setdefault(package, {})
                package = package.rpartition(".")[0]
    return table


class RefusedClass(type):
    """The class of refused classes: they have no instances, and members that refuse as well (ReduceOp.SUM)."""

    refuses = True

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError(f"{cls.__module__}.{cls.__qualname__}: {cls._reason}.")

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return RefusedName(cls.__module__, f"{cls.__qualname__}.{name}", cls._reason)


class RefusedName:
    """A function or constant that refuses when it is called."""

    refuses = True

    def __init__(self, module, name, reason):
        self.__module__, self.__name__, self.__qualname__ = module, name.rpartition(".")[2], name
        self.__doc__ = f"NotImplementedError: {reason}."

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self.__module__}.{self.__qualname__}: {self.__doc__.partition(': ')[2]}")

    def __repr__(self):
        return f"{self.__module__}.{self.__qualname__}"


class RefusedDecorator(RefusedName):
    """A decorator: it is used when a module is imported, and the function that it returns refuses."""

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return RefusedName(self.__module__, self.__qualname__, self.__doc__.partition(": ")[2][:-1])
        return self


def _refusing_object(module, name, reason):
    """The object that stands for a name. An @ marks a decorator; classes begin with a capital letter."""
    plain = name.removeprefix("@")
    if plain != name:
        return RefusedDecorator(module, plain, reason)
    if not plain.lstrip("_")[:1].isupper() or plain.isupper():
        return RefusedName(module, plain, reason)
    members = {"__module__": module, "__doc__": f"NotImplementedError: {reason}.", "_reason": reason}
    if plain.endswith(("Error", "Exception")):       # for `except` clauses
        return type(plain, (Exception,), {**members, "refuses": True})
    return RefusedClass(plain, (), members)


@cache
def _refused(module, name):
    """The object for a name of a module of torch; None where the table does not have it."""
    names = _table().get(module, {})
    found = next((known for known in (name, f"@{name}") if known in names), None)
    return None if found is None else _refusing_object(module, found, names[found])


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
        elif f"{torch_module}.{name}" in _table() or _has_submodule(module, name):
            return import_module(f"{module}.{name}")
        else:
            found = _refused(torch_module, name)
        if found is None:
            raise AttributeError(f"module '{torch_module}' has no attribute '{name}': mindtorch does not have it")
        return found
    return find


def _has_submodule(module, name):
    is_package = hasattr(sys.modules.get(module), "__path__")
    return is_package and name.isidentifier() and find_spec(f"{module}.{name}") is not None


def refused_modules():
    """Names of the modules in the table, and of the packages that hold them."""
    return set(_table())


def refused(module):
    """{name: reason} of a module of torch."""
    return {name.removeprefix("@"): reason for name, reason in _table().get(module, {}).items()}


class _Finder:
    """At the end of sys.meta_path: it is asked for what no file has. `moved` has the modules that stand elsewhere."""

    def __init__(self, moved):
        self.moved = {f"mindtorch.{name}": f"mindtorch.{place}" for name, place in moved.items()}

    def find_spec(self, name, path=None, target=None):
        if name in self.moved or (name.startswith("mindtorch.") and _torch_name(name) in _table()):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return import_module(self.moved[spec.name]) if spec.name in self.moved else None

    def exec_module(self, module):
        name = module.__spec__.name
        if name not in self.moved:
            module.__doc__ = f"{_torch_name(name)}: its names refuse when they are used."
        module.__dict__.setdefault("__getattr__", module_getattr(name))


def install(moved):
    """Adds the finder, once. `moved` names modules that stand elsewhere in mindtorch."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder(moved))
