"""Names of torch's modules that packages import and that refuse on use: the table is names.py.

_submodules.py shows them in the modules of mindtorch, and makes the modules that mindtorch lacks.
"""
from functools import cache


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
        self.__doc__, self._reason = f"NotImplementedError: {reason}.", reason

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self.__module__}.{self.__qualname__}: {self._reason}.")

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"'{self!r}' has no attribute '{name}'")
        return _refusing_object(self.__module__, f"{self.__qualname__}.{name}", self._reason)

    def __repr__(self):
        return f"{self.__module__}.{self.__qualname__}"


class RefusedDecorator(RefusedName):
    """A decorator: it is used when a module is imported, and the function that it returns refuses."""

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return RefusedName(self.__module__, self.__qualname__, self._reason)
        return self


def _refusing_object(module, name, reason):
    """The object that stands for a name. An @ marks a decorator; classes begin with a capital letter."""
    plain = name.removeprefix("@")
    if plain != name:
        return RefusedDecorator(module, plain, reason)
    last = plain.rpartition(".")[2]
    if not last.lstrip("_")[:1].isupper() or last.isupper():
        return RefusedName(module, plain, reason)
    members = {"__module__": module, "__doc__": f"NotImplementedError: {reason}.", "_reason": reason}
    if plain.endswith(("Error", "Exception")):       # for `except` clauses
        return type(plain, (Exception,), {**members, "refuses": True})
    return RefusedClass(plain, (), members)


def _reason_of_package(module):
    """Why all names of a module of torch refuse, where a * says so of it or of a package that holds it; else None."""
    while module:
        if reason := _table().get(module, {}).get("*"):
            return reason
        module = module.rpartition(".")[0]
    return None


@cache
def refused_object(module, name):
    """The object for a name of a module of torch; None where the table does not have it."""
    names = _table().get(module, {})
    found = next((known for known in (name, f"@{name}") if known in names), None)
    if found is not None:
        return _refusing_object(module, found, names[found])
    reason = _reason_of_package(module)
    return None if reason is None else _refusing_object(module, name, reason)


def refused_modules():
    """Names of the modules in the table, and of the packages that hold them."""
    return _table().keys()


def is_refused_module(name):
    """Whether torch's module is in the table, or in a package in which all refuses."""
    return name in _table() or _reason_of_package(name) is not None


def refused(module):
    """{name: reason} of a module of torch."""
    return {name.removeprefix("@"): reason for name, reason in _table().get(module, {}).items() if name != "*"}
