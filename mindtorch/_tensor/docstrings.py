"""Docstrings of classes, in which the parameters of the constructor are described."""


class CompletedDocstring:
    """The __doc__ of a class: its docstring, completed by what a file of _docs says of parameters of those names."""

    def __init__(self, docstring, file):
        self.docstring, self.file = docstring, file

    def __get__(self, instance, owner):
        from mindtorch import _docs
        return self.docstring and _docs.describe_class(owner, self.docstring, self.file)
