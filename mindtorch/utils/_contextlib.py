"""torch.utils._contextlib: context managers that are decorators as well."""
import functools

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx, func):
    """`func` within a new `ctx()` at each call."""
    @functools.wraps(func)
    def called(*args, **kwargs):
        with ctx():
            return func(*args, **kwargs)
    return called


class _DecoratorContextManager:
    """The base of context managers that also decorate functions. A subclass with parameters defines `clone`."""

    def __call__(self, orig_func):
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        """A new context manager of the same kind."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without parentheses as well: @no_grad."""

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
