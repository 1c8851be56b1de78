"""Docstrings of classes and functions, in which the parameters are described."""
from mindtorch._core.python.torch_function import WrappedFunction

_WRITABLE = 1 << 9                      # Py_TPFLAGS_HEAPTYPE: the class is not one of Cython, whose __doc__ is fixed


class CompletedDocstring:
    """The __doc__ of a class: its docstring, completed by what a file of _docs says of parameters of those names."""

    def __init__(self, docstring, file):
        self.docstring, self.file = docstring, file

    def __get__(self, instance, owner):
        from mindtorch import _docs
        return self.docstring and _docs.describe_class(owner, self.docstring, self.file)


class CompletedText(str):
    """The __doc__ of a function: its docstring, completed likewise when it is read.

    A function has no other way to make its __doc__ on demand. inspect.getdoc, and with it help() and doctest, begins
    with expandtabs(); print() with str().
    """

    __slots__ = ("file", "function")

    def __new__(cls, function, file):
        made = super().__new__(cls, function.__doc__)
        made.function, made.file = function, file
        return made

    def __str__(self):
        from mindtorch import _docs
        return _docs.describe_function(self.function, super().__str__(), self.file)

    def expandtabs(self, tabsize=8):
        return str(self).expandtabs(tabsize)


def complete(namespace, file, names=None):
    """Lets the help of a module's functions and classes describe their parameters by a file of _docs.

    That is those of `__all__`, or the given names, which have a docstring and are written in Python.
    """
    for name in namespace["__all__"] if names is None else names:
        value = namespace[name]
        value = value.__wrapped__ if type(value) is WrappedFunction else value
        if isinstance(value, type) and value.__flags__ & _WRITABLE and type(vars(value).get("__doc__")) is str:
            value.__doc__ = CompletedDocstring(vars(value)["__doc__"], file)
        elif hasattr(value, "__code__") and type(value.__doc__) is str:      # a function, also one of Cython
            value.__doc__ = CompletedText(value, file)
