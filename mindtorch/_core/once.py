"""Warnings that a process gives once, or each time where torch.set_warn_always asks for that."""
import warnings

_given = set()
_always = False


def set_always(mode):
    global _always
    _always = mode


def warn_once(key, message, stacklevel=1):
    """A UserWarning, where none of that key has been given."""
    if _always or key not in _given:
        _given.add(key)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
