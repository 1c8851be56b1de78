"""Fake kernels: functions that make results of the right shape and dtype without computing them.

Calls with tensors on the meta device run them. opcheck calls them with real tensors, to compare what they make with
what the operator makes.
"""
import threading
from contextlib import contextmanager

__all__ = ["FakeImplCtx", "fake_of", "get_ctx", "register", "run", "unknown_sizes"]

_fakes = {}             # "ns::name.overload" -> fake kernels, the last of which is in force


class FakeImplCtx:
    """The context of a running fake kernel."""

    def __init__(self, size):
        self._size = size

    def new_dynamic_size(self, *, min=0, max=None):
        """A data-dependent size: that of the real result with which the fake one is compared."""
        return self._size

    def create_unbacked_symint(self, *, min=2, max=None):
        """The older name of new_dynamic_size."""
        return self._size


class _UnknownSizes(FakeImplCtx):
    """The context under FakeTensorMode, where no real result has a size."""

    def __init__(self, error):
        self._error = error

    def new_dynamic_size(self, *, min=0, max=None):
        raise self._error

    create_unbacked_symint = new_dynamic_size


class _State(threading.local):
    ctx = None


_state = _State()


def register(qualname, function):
    """Register a fake kernel, also before the operator is defined. Returns (list, kernel) for its removal.

    torchvision gives fake kernels to the operators of its C++ library whether or not that could be loaded.
    """
    stack = _fakes.setdefault(qualname, [])
    stack.append(function)
    return stack, function


def fake_of(qualname):
    """The current fake kernel or None."""
    stack = _fakes.get(qualname)
    return stack[-1] if stack else None


def get_ctx():
    """The FakeImplCtx of the fake kernel that is running, None outside of one.

    Example:
        >>> @torch.library.custom_op("example::places", mutates_args=())
        ... def places(x: torch.Tensor) -> torch.Tensor:
        ...     return x.nonzero()
        >>> @places.register_fake
        ... def _(x):
        ...     return x.new_empty((torch.library.get_ctx().new_dynamic_size(), x.ndim), dtype=torch.long)
        >>> places(torch.tensor([0, 5]))
        tensor([[1]])
    """
    return _state.ctx


def run(function, size, args, kwargs):
    """Call a fake kernel; sizes that depend on values are `size`."""
    with _within(FakeImplCtx(size)):
        return function(*args, **kwargs)


def unknown_sizes(error):
    """A context in which a fake kernel that asks for a size that depends on values raises `error`."""
    return _within(_UnknownSizes(error))


@contextmanager
def _within(ctx):
    before, _state.ctx = _state.ctx, ctx
    try:
        yield
    finally:
        _state.ctx = before
