"""Docstrings of classes, in which the parameters of the constructor are described."""


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


def complete(values, file):
    """Lets the help of functions and classes describe their parameters by a file of _docs, besides their docstrings."""
    for value in values:
        docstring = value.__dict__.get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", None)
        if type(docstring) is str:
            is_class = isinstance(value, type)
            value.__doc__ = CompletedDocstring(docstring, file) if is_class else CompletedText(value, file)
