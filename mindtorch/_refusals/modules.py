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
def refused_object(module, name):
    """The object for a name of a module of torch; None where the table does not have it."""
    names = _table().get(module, {})
    found = next((known for known in (name, f"@{name}") if known in names), None)
    return None if found is None else _refusing_object(module, found, names[found])


def refused_modules():
    """Names of the modules in the table, and of the packages that hold them."""
    return _table().keys()


def refused(module):
    """{name: reason} of a module of torch."""
    return {name.removeprefix("@"): reason for name, reason in _table().get(module, {}).items()}
