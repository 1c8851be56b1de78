"""An exception on its way from one process to another."""
import sys
import traceback

__all__ = ["ExceptionWrapper", "KeyErrorMessage"]


class KeyErrorMessage(str):
    """A text that KeyError shows as it is, lines and all."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """Type and printed traceback of the exception being handled: those can be pickled, a traceback cannot."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises the exception's type with its traceback as the message; RuntimeError where that type wants more."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        # Without a name: its traceback leads to this frame, and a cycle would keep alive all that it passes.
        raise _made(self.exc_type, message) from None


def _made(kind, message):
    if getattr(kind, "message", None):
        return kind(message=message)
    try:
        return kind(KeyErrorMessage(message) if kind is KeyError else message)
    except Exception:  # noqa: BLE001 - a constructor may raise anything
        return RuntimeError(message)
