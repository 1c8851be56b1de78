"""Warnings given once a process, or each time after torch.set_warn_always; the lock of tables that are read once."""
import os
import threading
import warnings

_given = set()
_always = False


def set_always(mode):
    global _always
    _always = mode


def warn_once(key, message, stacklevel=1):
    """A UserWarning, unless one with that key was given before."""
    if _always or key not in _given:
        _given.add(key)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def _make_first_use_lock():
    """Make the lock, also in a forked child: another thread of its parent may have held it."""
    global first_use_lock
    first_use_lock = threading.RLock()      # held while a thread reads an operator's entry in a generated table


_make_first_use_lock()
os.register_at_fork(after_in_child=_make_first_use_lock)
