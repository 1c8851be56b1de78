"""torch.backends.nnpack: a library that is not there."""
from mindtorch.backends import _switches

_set, _flags = _switches.install(__name__, enabled=True)


def is_available():
    """False."""
    return False


def set_flags(_enabled):
    """Sets the switch; the value before, in a tuple."""
    return _set(enabled=_enabled)


def flags(enabled=False):
    """Sets the switch for the length of a `with` block."""
    return _flags(enabled=enabled)
