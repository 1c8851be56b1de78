"""Warnings that a process gives once, or each time where torch.set_warn_always asks for that; what is read once."""
import os
import threading
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


def _make_first_use_lock():
    """Also in a forked child: another thread of its parent may have held the lock."""
    global first_use_lock
    first_use_lock = threading.RLock()      # held while a thread reads what the tables say of an operator


_make_first_use_lock()
os.register_at_fork(after_in_child=_make_first_use_lock)
