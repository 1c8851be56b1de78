"""torch._dynamo.utils: what a compiler could do."""
import collections
import functools
import warnings

__all__ = ["counters", "is_compile_supported", "warn_once"]

counters = collections.defaultdict(collections.Counter)      # what a compiler would count


def is_compile_supported(device_type):
    """False: there is no compiler for any device."""
    return False


@functools.cache
def warn_once(msg, stacklevel=1):
    """Warns of the same message once."""
    warnings.warn(msg, stacklevel=stacklevel + 1)
